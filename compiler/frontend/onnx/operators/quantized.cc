// Quantised operators, by their definitions: whole numbers are subtracted, multiplied and summed as whole numbers, and
// results are scaled, rounded to the nearest (halves to the even one) and saturated as ONNX says.
#include <algorithm>

#include "base/narrow_floats.h"
#include "compiler/frontend/onnx/node/encoded_node.h"
#include "compiler/frontend/onnx/node/quantized_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

size_t axis_of_quantization(const NodeContext& c) {
  const Operand& x = c.in(0);
  if (x.rank() == 0 || element_count(c.in(1).type.shape) == 1) return 0;
  return static_cast<size_t>(axis_of(c.number("axis", 1), x.rank()));
}

// A scale or zero point of `size` extents of `axis` each, for all of them.
Operand of_blocks(Lowering& l, const Operand& x, const Operand& each, size_t axis, int64_t size) {
  const int64_t extent = x.type.shape[axis];
  Extents wanted = x.type.shape;
  wanted[axis] = (extent + size - 1) / size;
  HONE_USER_CHECK(each.type.shape == wanted)
      << to_string(each.type) << " for blocks of " << size << " of " << to_string(x.type);
  Extents apart = wanted, repeated = wanted, whole = wanted;
  apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  repeated.insert(repeated.begin() + static_cast<std::ptrdiff_t>(axis) + 1, size);
  whole[axis] *= size;
  return l.slice(l.reshape(l.broadcast(l.reshape(each, apart), repeated), whole), Extents(x.rank(), 0),
                 Extents(x.rank(), 1), x.type.shape);
}

// The quantization that the node gives: of the tensor, of an axis, or by blocks of one.
Quantization own_quantization(const NodeContext& c) {
  const Operand& x = c.in(0);
  int64_t size = c.number("block_size", 0);
  if (size == 0) return quantization(c, 1, 2, axis_of_quantization(c), x.rank());
  const auto axis = static_cast<size_t>(axis_of(c.number("axis", 1), x.rank()));
  HONE_USER_CHECK(size >= 1 && size < int64_t{1} << 31 && !x.is_empty()) << "block_size=" << size;
  size = std::min(size, x.type.shape[axis]);
  Quantization q{of_blocks(c.l, x, c.in(1), axis, size), std::nullopt};
  if (c.has(2)) q.zero = of_blocks(c.l, x, c.in(2), axis, size);
  return q;
}

// The node with decoded numbers in place of the stored ones.
NodeContext with_numbers(const NodeContext& c) {
  NodeContext out = c;
  for (auto& x : out.inputs)
    if (x) x = decoded(c.l, *x);
  return out;
}

void quantize_linear(NodeContext& c) {
  const int64_t output = c.number("output_dtype", 0);
  const ElementType to = c.has(2) ? ElementType{c.in(2).type.dtype, c.in(2).encoding}
                         : output ? element_type_of(static_cast<int>(output), "")
                                  : ElementType{u8};
  const NodeContext numbers = with_numbers(c);
  Quantization q = own_quantization(numbers);
  if (const int64_t precision = c.number("precision", 0))
    q.scale = c.l.cast(q.scale, dtype_of(static_cast<int>(precision), ""));
  const Operand x = c.l.cast(numbers.in(0), q.scale.type.dtype);
  if (is_float(to.encoding)) {
    Operand scaled = c.l.pointwise("div", {x, q.scale});
    // ONNX says that it is 0.
    if (q.zero && !is_known_zero(c.l, *q.zero))
      scaled = c.l.pointwise("add", {scaled, c.l.cast(*q.zero, scaled.type.dtype)});
    return void(c.outputs[0] = encoded(c.l, scaled, to.encoding, rounding_of(c)));
  }
  Operand out = quantized(c.l, x, q, to.dtype);
  if (to.encoding != Encoding::kPlain) {
    const int all = 1 << bits_of(to.encoding), least = to.dtype == i8 ? -all / 2 : 0;
    out = c.l.pointwise(fmt::format("clip[{};{}]", least, least + all - 1), {out});
    out.encoding = to.encoding;
  }
  c.outputs[0] = out;
}

// (x - zero) * scale by blocks of an axis, of numbers that are known: by a loop here, as nodes would take an
// interpreter minutes for the weights of a large model.
std::optional<Operand> known_in_blocks(const NodeContext& c) {
  const Operand &x = c.in(0), &each = c.in(1);
  int64_t size = c.number("block_size", 0);
  const auto data = c.l.data_of(x), scales = c.l.data_of(each);
  const auto zeros = c.has(2) ? c.l.data_of(c.in(2)) : std::nullopt;
  const DType t = each.type.dtype, of = x.type.dtype;
  if (size < 1 || x.is_empty() || !data || !scales || c.has(2) != zeros.has_value() ||
      (t != f32 && !t.is_narrow_float()) || (of != u8 && of != i8) || (zeros && zeros->type().dtype != of))
    return std::nullopt;
  const auto axis = static_cast<size_t>(axis_of(c.number("axis", 1), x.rank()));
  const Extents& s = x.type.shape;
  size = std::min(size, s[axis]);
  Extents blocks = s;
  blocks[axis] = (s[axis] + size - 1) / size;
  HONE_USER_CHECK(each.type.shape == blocks && (!zeros || zeros->type().shape == blocks))
      << to_string(each.type) << " for blocks of " << size << " of " << to_string(x.type);
  const int64_t count = element_count(s),
                inner = element_count({s.begin() + static_cast<std::ptrdiff_t>(axis) + 1, s.end()});
  constexpr int64_t kLarge = 1 << 20;
  if (c.l.b.leaves_large_constants() && count > kLarge) return c.l.broadcast(c.l.number(0, t), s);
  c.l.count_expanded(count * t.bytes());
  const std::vector<double> scale = scales->values();
  const std::vector<int64_t> zero = zeros ? zeros->numbers() : std::vector<int64_t>();
  const bool is_signed = of == i8;
  std::string bytes;
  bytes.reserve(static_cast<size_t>(count * t.bytes()));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i / inner, of_axis = row % s[axis], before = row / s[axis];
    const auto block = static_cast<size_t>((before * blocks[axis] + of_axis / size) * inner + i % inner);
    const char byte = data->bytes()[static_cast<size_t>(i)];
    const int64_t value = is_signed ? int64_t{static_cast<int8_t>(byte)} : int64_t{static_cast<uint8_t>(byte)};
    const float v = static_cast<float>(value - (zeros ? zero[block] : 0)) * static_cast<float>(scale[block]);
    const uint16_t narrow = t == f16 ? f16_of_float(v) : bf16_of_float(v);
    bytes.append(t == f32 ? reinterpret_cast<const char*>(&v) : reinterpret_cast<const char*>(&narrow),
                 static_cast<size_t>(t.bytes()));
  }
  return c.l.constant(TensorData({t, s}, std::move(bytes)));
}

void dequantize_linear(NodeContext& c) {
  const NodeContext numbers = with_numbers(c);
  const auto dequantized_floats = [&] {
    const Quantization q = own_quantization(numbers);
    return c.l.pointwise("mul", {centred(c.l, numbers.in(0), q.zero, q.scale.type.dtype), q.scale});
  };
  const auto known = known_in_blocks(numbers);
  const Operand out = known                        ? *known
                      : is_float(c.in(0).encoding) ? dequantized_floats()
                                                   : dequantized(c.l, numbers.in(0), own_quantization(numbers));
  const int64_t to = c.number("output_dtype", 0);
  c.outputs[0] = to ? c.l.cast(out, dtype_of(static_cast<int>(to), "")) : out;
}

}  // namespace

// scale = (max(x, 0) - min(x, 0)) / 255, of nothing but zeros 1; zero = round(-min / scale)
void dynamic_quantize_linear(NodeContext& c) {
  const Operand& x = c.in(0);
  Extents axes;
  for (size_t d = 0; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  const Operand most = c.l.pointwise("max[0]", {c.l.reduce("max", x, axes, false)}),
                least = c.l.pointwise("min[0]", {c.l.reduce("min", x, axes, false)});
  const Operand range = c.l.pointwise("sub", {most, least});
  const Operand scale = c.l.pointwise("x=s+equal[0]:f32+mul[255]+add[s]+div[255]", {range});
  const Operand zero = c.l.pointwise(
      "saturate:u8", {c.l.pointwise("round", {c.l.pointwise("div", {c.l.pointwise("neg", {least}), scale})})});
  c.outputs[0] = quantized(c.l, x, {scale, zero}, u8);
  if (c.outputs.size() > 1) c.outputs[1] = c.l.reshape(scale, {});
  if (c.outputs.size() > 2) c.outputs[2] = c.l.reshape(zero, {});
}

namespace {

// The product of differences of bytes: s16 factors hold them, and sums are s32.
void matmul_integer(NodeContext& c) {
  c.outputs[0] = c.l.matmul(centred(c.l, c.in(0), row_zero(c, 2), i16), centred(c.l, c.in(1), column_zero(c, 3), i16));
}

void qlinear_matmul(NodeContext& c) {
  const Operand product =
      c.l.matmul(centred(c.l, c.in(0), row_zero(c, 2), i16), centred(c.l, c.in(3), column_zero(c, 5), i16));
  const Operand scale = c.l.pointwise("mul", {c.l.cast(row_scale(c, 1), f32), c.l.cast(column_scale(c, 4), f32)});
  const Operand real = c.l.pointwise("mul", {c.l.cast(product, f32), scale});
  const Quantization q{c.l.cast(c.l.reshape(c.in(6), {}), f32), c.l.reshape(c.in(7), {})};
  c.outputs[0] = quantized(c.l, real, q, c.in(7).type.dtype);
}

Operand integer_conv(NodeContext& c, const Operand& x, const Operand& weight, std::optional<Operand> bias) {
  NodeContext conv{c.node, c.opset, {x, weight, std::move(bias)}, {Operand{}}, c.l};
  converters().at(":Conv")(conv);
  return conv.outputs[0];
}

void conv_integer(NodeContext& c) {
  std::optional<Operand> weight_zero;
  if (c.has(3)) weight_zero = along(c.l, c.in(3), 0, c.in(1).rank());
  c.outputs[0] =
      integer_conv(c, centred(c.l, c.in(0), c.has(2) ? std::optional(c.l.reshape(c.in(2), {})) : std::nullopt, i16),
                   centred(c.l, c.in(1), weight_zero, i16), std::nullopt);
}

}  // namespace

void qlinear_conv(NodeContext& c) {
  const size_t rank = c.in(3).rank();
  const Operand x = centred(c.l, c.in(0), c.l.reshape(c.in(2), {}), i16),
                weight = centred(c.l, c.in(3), along(c.l, c.in(5), 0, rank), i16);
  const Operand sums = integer_conv(c, x, weight, c.has(8) ? c.inputs[8] : std::nullopt);
  const Operand scale = c.l.pointwise("mul", {c.l.reshape(c.in(1), {}), along(c.l, c.in(4), 1, rank)});
  const Operand real = c.l.pointwise("mul", {c.l.cast(sums, f32), scale});
  c.outputs[0] = quantized(c.l, real, {c.l.reshape(c.in(6), {}), c.l.reshape(c.in(7), {})}, c.in(7).type.dtype);
}

void add_quantized_operators(ConverterTable& t) {
  t[":QuantizeLinear"] = &quantize_linear;
  t[":DequantizeLinear"] = &dequantize_linear;
  t[":DynamicQuantizeLinear"] = &dynamic_quantize_linear;
  t[":MatMulInteger"] = &matmul_integer;
  t[":QLinearMatMul"] = &qlinear_matmul;
  t[":ConvInteger"] = &conv_integer;
  t[":QLinearConv"] = &qlinear_conv;
  t["com.microsoft:QuantizeLinear"] = &quantize_linear;
  t["com.microsoft:DequantizeLinear"] = &dequantize_linear;
}

}  // namespace hone::onnx
