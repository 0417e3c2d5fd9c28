// Products with weights of 4 or 8 bits in blocks of a row, each with a scale: com.microsoft.MatMulNBits.
#include <bit>
#include <cmath>
#include <cstring>

#include "base/narrow_floats.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

struct Blocks {
  int64_t n, k, bits, size, count;  // `count` blocks of `size` elements in each of n rows, the last one perhaps cut
  int64_t bytes() const { return size * bits / 8; }              // of a block
  int64_t zero_bytes() const { return (count * bits + 7) / 8; }  // of a row's zero points
};

Blocks blocks_of(const NodeContext& c) {
  Blocks b{c.number("N", 0), c.number("K", 0), c.number("bits", 4), c.number("block_size", 0), 0};
  constexpr int64_t kMost = int64_t{1} << 31;
  HONE_USER_CHECK(b.n >= 1 && b.n < kMost && b.k >= 1 && b.k < kMost) << "N=" << b.n << ", K=" << b.k;
  HONE_USER_CHECK(b.bits == 4 || b.bits == 8) << "bits=" << b.bits << " is not supported";
  HONE_USER_CHECK(b.size >= 2 && b.size <= 65536 && b.size % 2 == 0) << "block_size=" << b.size;
  b.count = (b.k + b.size - 1) / b.size;
  return b;
}

// Number `i` of the numbers packed in these bytes, the lower half of a byte first.
int64_t packed(std::span<const char> bytes, int64_t i, int64_t bits) {
  const auto byte = static_cast<uint8_t>(bytes[static_cast<size_t>(bits == 8 ? i : i / 2)]);
  return bits == 8 ? byte : i % 2 ? byte >> 4 : byte & 15;
}

// Zero points of all blocks, packed as the weights are, or floats.
std::vector<double> zero_points(const NodeContext& c, const Blocks& b) {
  std::vector<double> out(static_cast<size_t>(b.n * b.count), b.bits == 4 ? 8 : 128);
  if (!c.has(3)) return out;
  const TensorData data = c.constant(3, "zero_points");
  if (data.type().dtype.is_float()) {
    HONE_USER_CHECK(data.elements() == b.n * b.count) << "zero_points " << to_string(data.type());
    return data.values();
  }
  HONE_USER_CHECK(data.type().dtype == u8 && data.elements() == b.n * b.zero_bytes())
      << "zero_points " << to_string(data.type());
  for (int64_t row = 0; row < b.n; ++row)
    for (int64_t block = 0; block < b.count; ++block)
      out[static_cast<size_t>(row * b.count + block)] =
          static_cast<double>(packed(data.bytes().subspan(static_cast<size_t>(row * b.zero_bytes())), block, b.bits));
  return out;
}

TensorData scales_of(const NodeContext& c, const Blocks& b) {
  TensorData scales = c.constant(2, "scales");
  HONE_USER_CHECK(scales.elements() == b.n * b.count && scales.type().dtype.is_float())
      << "scales " << to_string(scales.type()) << " for " << b.n << " rows of " << b.count << " blocks";
  return scales;
}

// [n, k] of floats. It is computed here and not by nodes, as it would take an interpreter minutes.
TensorData dequantized(const NodeContext& c, const Blocks& b, const TensorData& weights, DType t) {
  const std::vector<double> scale = scales_of(c, b).values(), zero = zero_points(c, b);
  const auto element = static_cast<size_t>(t.bytes());
  std::string bytes(static_cast<size_t>(b.n * b.k) * element, '\0');
  char* out = bytes.data();
  for (int64_t row = 0; row < b.n; ++row)
    for (int64_t block = 0; block < b.count; ++block) {
      const auto at = static_cast<size_t>(row * b.count + block);
      const auto of_block = weights.bytes().subspan(at * static_cast<size_t>(b.bytes()));
      const auto factor = static_cast<float>(scale[at]), from = static_cast<float>(zero[at]);
      for (int64_t i = 0; i < std::min(b.size, b.k - block * b.size); ++i, out += element) {
        const float v = (static_cast<float>(packed(of_block, i, b.bits)) - from) * factor;
        const uint16_t narrow = t == f16 ? f16_of_float(v) : bf16_of_float(v);
        std::memcpy(out, t == f32 ? static_cast<const void*>(&v) : &narrow, element);
      }
    }
  return {{t, {b.n, b.k}}, std::move(bytes)};
}

// Zero points as the operator dense_nbits has them: one of all blocks, or whole numbers from 0 to 255 of each; nothing
// where they are others.
struct WholeZeros {
  std::string text;
  std::optional<TensorData> each;
};
std::optional<WholeZeros> whole_zeros(const NodeContext& c, const Blocks& b) {
  const std::vector<double> zeros = zero_points(c, b);
  std::string bytes;
  bool all_equal = true;
  for (const double z : zeros) {
    if (!(z >= 0 && z <= 255 && z == std::floor(z))) return std::nullopt;
    bytes += static_cast<char>(static_cast<uint8_t>(z));
    all_equal = all_equal && z == zeros[0];
  }
  if (all_equal && zeros[0] < std::exp2(static_cast<double>(b.bits)))
    return WholeZeros{std::to_string(static_cast<int64_t>(zeros[0])), std::nullopt};
  return WholeZeros{"each", TensorData({u8, {b.n, b.count}}, std::move(bytes))};
}

// The product with the numbers as they are stored. Nothing where blocks are cut, or are no whole words.
std::optional<Operand> product_of_words(NodeContext& c, const Blocks& b, const TensorData& weights) {
  constexpr int64_t kWord = 4;  // bytes
  if (b.k % b.size != 0 || b.bytes() % kWord != 0) return std::nullopt;
  const TensorData scales = scales_of(c, b);
  const auto zeros = whole_zeros(c, b);
  if (!zeros) return std::nullopt;
  const Operand& x = c.in(0);
  Extents shape = x.type.shape;
  shape.back() = b.n;
  // Four bytes in the order of this machine's memory, the lowest first, as ONNX packs them.
  static_assert(std::endian::native == std::endian::little);
  const TensorData words({u32, {b.n, b.count * b.bytes() / kWord}},
                         std::string(weights.bytes().begin(), weights.bytes().end()));
  const std::vector<double> scale = scales.values();
  const std::vector<float> floats(scale.begin(), scale.end());
  const TensorData factors({f32, {b.n, b.count}},
                           std::string(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)));
  std::vector<ValueId> ids{c.l.as(x, {element_count(x.type.shape) / b.k, b.k}), c.l.value(c.l.constant(words)),
                           c.l.value(c.l.constant(factors))};
  if (zeros->each) ids.push_back(c.l.value(c.l.constant(*zeros->each)));
  const bool has_bias = c.has(5);
  if (has_bias) ids.push_back(c.l.value(c.l.reshape(c.in(5), {b.n})));
  return c.l.add("dense_nbits", {{"zero", zeros->text}, {"epilogue", has_bias ? "bias" : "none"}}, ids, shape);
}

// A times the transposed weights, [n, k].
void matmul_of_blocks(NodeContext& c) {
  const Operand& x = c.in(0);
  const Blocks b = blocks_of(c);
  const DType t = x.type.dtype;
  HONE_USER_CHECK(!c.has(4)) << "g_idx is not supported";
  HONE_USER_CHECK(x.rank() >= 1 && x.type.shape.back() == b.k && (t == f32 || t == f16 || t == bf16))
      << to_string(x.type) << " for K=" << b.k;
  const TensorData weights = c.constant(1, "weights");
  HONE_USER_CHECK(weights.type().dtype == u8 && element_count({b.n, b.count, b.bytes()}) == weights.elements())
      << "weights " << to_string(weights.type()) << " for " << b.n << " rows of " << b.count << " blocks of "
      << b.bytes() << " bytes";
  if (auto product = product_of_words(c, b, weights)) return void(c.outputs[0] = *product);
  // Callers that only want small constants need not wait for these.
  const int64_t bytes = element_count({b.n, b.k, t.bytes()});
  constexpr int64_t kLarge = 1 << 20;
  Operand known;
  if (c.l.b.leaves_large_constants() && bytes > kLarge) {
    known = c.l.broadcast(c.l.number(0, t), {b.n, b.k});
  } else {
    c.l.count_expanded(bytes);
    known = c.l.constant(dequantized(c, b, weights, t));
  }
  if (!c.has(5)) return void(c.outputs[0] = c.l.dense(x, known, true));
  c.outputs[0] = c.l.dense(x, known, true, "bias", {c.l.reshape(c.in(5), {b.n})});
}

}  // namespace

void add_block_operators(ConverterTable& t) { t["com.microsoft:MatMulNBits"] = &matmul_of_blocks; }

}  // namespace hone::onnx
