#include "tests/unit/nvptx/warp_model.h"

#include <bit>
#include <cstring>

#include "base/narrow_floats.h"

namespace hone {
namespace {

using Given = std::array<const WarpOperands*, 32>;

// ldmatrix: lanes 8i .. 8i+7 say where the rows of matrix i are, 8 elements of 16 bits each. Thread 4r + q gets
// elements 2q and 2q+1 of row r; transposed, of column r.
void read_matrices(const Given& given, int matrices, bool transposes, int lane, uint32_t* results) {
  const int r = lane / 4, q = lane % 4;
  for (int i = 0; i < matrices; ++i) {
    const auto element = [&](int row, int column) {
      const char* begin;
      std::memcpy(&begin, given[static_cast<size_t>(8 * i + row)]->data(), sizeof begin);
      uint16_t bits;
      std::memcpy(&bits, begin + 2 * column, sizeof bits);
      return uint32_t{bits};
    };
    results[i] =
        transposes ? element(2 * q, r) | element(2 * q + 1, r) << 16 : element(r, 2 * q) | element(r, 2 * q + 1) << 16;
  }
}

float value_of(WarpInstruction what, uint32_t word, int part) {
  const auto half = static_cast<uint16_t>(word >> (16 * part));
  if (what == WarpInstruction::kMmaF16 || what == WarpInstruction::kHalfMmaF16) return float_of_f16(half);
  if (what == WarpInstruction::kMmaBf16) return float_of_bf16(half);
  return std::bit_cast<float>(word);
}

// How many rows, in eights, and how many k, in 16 bytes, an instruction multiplies.
struct MmaShape {
  int rows = 2, depth = 2;
};

// A word holds `each` neighbouring k. Thread 4g + q has of A (16 x k) words of rows g and g + 8, at k = each * q, then
// of the same rows in the second half of k; of B (k x 8) words of column g at each * q, then in the second half; of C
// rows g and g + 8 of columns 2q and 2q + 1. Smaller shapes have the first of these.
template <class T, class Product>
void multiply(const Given& given, MmaShape shape, int each, int lane, uint32_t* results, const Product& product) {
  const int g = lane / 4, q = lane % 4, of_a = shape.rows * shape.depth, of_b = shape.depth;
  for (int i = 0; i < 2 * shape.rows; ++i) {
    const int row = g + 8 * (i / 2), column = 2 * q + i % 2;
    T sum = std::bit_cast<T>((*given[static_cast<size_t>(lane)])[static_cast<size_t>(of_a + of_b + i)]);
    for (int k = 0; k < 4 * shape.depth * each; ++k) {
      const int half = k / (4 * each), of_lane = k % (4 * each) / each;
      const uint32_t
          a = (*given[static_cast<size_t>(4 * (row % 8) + of_lane)])[static_cast<size_t>(row / 8 + shape.rows * half)],
          b = (*given[static_cast<size_t>(4 * column + of_lane)])[static_cast<size_t>(of_a + half)];
      sum += product(a, b, k % each);
    }
    results[i] = std::bit_cast<uint32_t>(sum);
  }
}

}  // namespace

void run_warp_instruction(WarpInstruction what, const Given& given, int lane, uint32_t* results) {
  const auto floats = [&](uint32_t a, uint32_t b, int part) {
    return value_of(what, a, part) * value_of(what, b, part);
  };
  const auto byte = [](uint32_t word, int part) { return static_cast<uint8_t>(word >> (8 * part)); };
  const auto s8s8 = [&](uint32_t a, uint32_t b, int part) {
    return static_cast<int8_t>(byte(a, part)) * static_cast<int8_t>(byte(b, part));
  };
  const auto u8s8 = [&](uint32_t a, uint32_t b, int part) {
    return byte(a, part) * static_cast<int8_t>(byte(b, part));
  };
  const WarpOperands& own = *given[static_cast<size_t>(lane)];
  switch (what) {
    case WarpInstruction::kRows4: return read_matrices(given, 4, false, lane, results);
    case WarpInstruction::kRows2: return read_matrices(given, 2, false, lane, results);
    case WarpInstruction::kColumns4: return read_matrices(given, 4, true, lane, results);
    case WarpInstruction::kColumns2: return read_matrices(given, 2, true, lane, results);
    case WarpInstruction::kMmaF16:
    case WarpInstruction::kMmaBf16: return multiply<float>(given, {2, 2}, 2, lane, results, floats);
    case WarpInstruction::kMmaTf32: return multiply<float>(given, {2, 2}, 1, lane, results, floats);
    case WarpInstruction::kMmaS8: return multiply<int32_t>(given, {2, 2}, 4, lane, results, s8s8);
    case WarpInstruction::kMmaU8S8: return multiply<int32_t>(given, {2, 2}, 4, lane, results, u8s8);
    case WarpInstruction::kHalfMmaF16: return multiply<float>(given, {2, 1}, 2, lane, results, floats);
    case WarpInstruction::kQuarterMmaS8: return multiply<int32_t>(given, {1, 1}, 4, lane, results, s8s8);
    case WarpInstruction::kQuarterMmaU8S8: return multiply<int32_t>(given, {1, 1}, 4, lane, results, u8s8);
    case WarpInstruction::kShuffle:
      results[0] = (*given[static_cast<size_t>(lane ^ static_cast<int>(own[1]))])[0];
      return;
    // To the nearest of 10 bits behind the point, ties away from zero.
    case WarpInstruction::kRoundTf32: results[0] = (own[0] + 0x1000u) & ~0x1fffu; return;
    case WarpInstruction::kRoundBf16: results[0] = bf16_of_float(std::bit_cast<float>(own[0])); return;
    case WarpInstruction::kDot4:
      results[0] = own[2];
      for (int part = 0; part < 4; ++part) results[0] += static_cast<uint32_t>(u8s8(own[0], own[1], part));
      return;
  }
}

}  // namespace hone
