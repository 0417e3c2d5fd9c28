#include "compiler/graph/passes/bytes/whole_weights.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/check.h"

namespace hone {
namespace {

// The scale that makes all these values its multiples by -128 to 127; nothing when there is none.
std::optional<double> scale_of(std::span<const float> values) {
  double most = 0;
  for (const float v : values) {
    if (!std::isfinite(v)) return std::nullopt;
    most = std::max(most, std::abs(static_cast<double>(v)));
  }
  if (most == 0) return 1;
  // Room for a step rounded to f32, times a number, rounded again. Zeros must be exact: many small errors add up.
  constexpr double kNear = 1e-6;
  for (int64_t steps = 1; steps <= kMostFactor; ++steps) {
    const double scale = most / static_cast<double>(steps);
    double products = 0, squares = 0;
    bool all = std::isnormal(static_cast<float>(scale));
    for (size_t i = 0; i < values.size() && all; ++i) {
      const double exact = static_cast<double>(values[i]) / scale, whole = std::round(exact);
      all = std::abs(exact - whole) <= kNear * std::abs(whole) && whole >= -kMostFactor && whole < kMostFactor;
      products += static_cast<double>(values[i]) * whole, squares += whole * whole;
    }
    if (all) return products / squares;
  }
  return std::nullopt;
}

// 1 where all of these whole numbers are from -128 to 127.
std::optional<double> scale_of_numbers(std::span<const float> values) {
  const bool all =
      std::all_of(values.begin(), values.end(), [](float v) { return v >= -kMostFactor && v < kMostFactor; });
  return all ? std::optional(1.0) : std::nullopt;
}

// The elements of f32 or s16; f32 holds each exactly.
std::vector<float> floats_in(const TensorData& data) {
  if (data.type().dtype == f32) return elements_of<float>(data);
  const std::vector<int16_t> numbers = elements_of<int16_t>(data);
  return {numbers.begin(), numbers.end()};
}

// The zero point with which numbers of this range are less than 16: of equal ones 8, which symmetric ones have.
std::optional<uint8_t> zero_of_four_bits(int64_t least, int64_t most) {
  constexpr int64_t kNumbers = 16, kUsual = 8;
  if (least >= -kUsual && most < kNumbers - kUsual) return kUsual;
  const int64_t zero = std::max<int64_t>(0, -least);
  if (zero >= kNumbers || most + zero >= kNumbers) return std::nullopt;
  return static_cast<uint8_t>(zero);
}

std::optional<WholeBlocks> in_blocks(std::span<const float> values, int64_t size) {
  WholeBlocks out;
  out.size = size;
  out.bits = 4;
  std::vector<int8_t> centred;
  centred.reserve(values.size());
  for (size_t begin = 0; begin < values.size(); begin += static_cast<size_t>(size)) {
    const auto block = values.subspan(begin, static_cast<size_t>(size));
    const auto scale = scale_of(block);
    if (!scale) return std::nullopt;
    out.scales.push_back(static_cast<float>(*scale));
    int64_t least = 0, most = 0;
    for (const float v : block) {
      const int64_t number = std::lround(static_cast<double>(v) / *scale);
      least = std::min(least, number), most = std::max(most, number);
      centred.push_back(static_cast<int8_t>(number));
    }
    const auto zero = zero_of_four_bits(least, most);
    if (!zero) out.bits = 8;
    out.zeros.push_back(zero.value_or(0));
  }
  if (out.bits == 8) out.zeros.assign(out.zeros.size(), kMostFactor);
  for (size_t i = 0; i < centred.size(); ++i)
    out.numbers.push_back(static_cast<uint8_t>(centred[i] + out.zeros[i / static_cast<size_t>(size)]));
  return out;
}

}  // namespace

std::optional<WholeBlocks> whole_blocks(const TensorData& matrix) {
  HONE_ICHECK(matrix.type().dtype == f32 && matrix.type().shape.size() == 2) << to_string(matrix.type());
  const std::vector<float> values = elements_of<float>(matrix);
  const int64_t k = matrix.type().shape[1];
  std::optional<WholeBlocks> out;
  for (const int64_t size : {k, int64_t{256}, int64_t{128}, int64_t{64}, int64_t{32}, int64_t{16}}) {
    if (size > k || k % size != 0) continue;
    auto found = in_blocks(values, size);
    if (found && (!out || found->bits < out->bits)) out = std::move(found);
    if (out && out->bits == 4) break;
  }
  return out;
}

std::optional<WholeWeights> whole_weights(const TensorData& data) {
  const DType t = data.type().dtype;
  HONE_ICHECK(t == f32 || t == i16) << to_string(t);
  const auto channels = static_cast<size_t>(data.type().shape[0]);
  const size_t each = static_cast<size_t>(data.elements()) / channels;
  const std::vector<float> values = floats_in(data);
  WholeWeights out;
  for (size_t c = 0; c < channels; ++c) {
    const auto own = std::span(values).subspan(c * each, each);
    const auto scale = t == f32 ? scale_of(own) : scale_of_numbers(own);
    if (!scale) return std::nullopt;
    out.scales.push_back(*scale);
    for (const float v : own) out.numbers.push_back(static_cast<int8_t>(std::lround(static_cast<double>(v) / *scale)));
  }
  return out;
}

}  // namespace hone
