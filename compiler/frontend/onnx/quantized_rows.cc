// Quantised operators, by their definitions: whole numbers are subtracted, multiplied and summed as whole numbers, and
// results are scaled, rounded to the nearest (halves to the even one) and saturated as ONNX says.
#include <algorithm>

#include "compiler/frontend/onnx/lowering.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// Scales and zero points: of a whole tensor, or one for each extent of an axis.
struct Quantization {
  Operand scale;
  std::optional<Operand> zero;
};

// A tensor of one element for each extent of `axis` (or of one), in front of the later axes of a tensor of this rank.
Operand along(const NodeContext& c, const Operand& x, size_t axis, size_t rank) {
  if (element_count(x.type.shape) == 1) return c.l.reshape(x, {});
  HONE_USER_CHECK(x.rank() == 1 && axis < rank) << to_string(x.type) << " for axis " << axis << " of " << rank;
  Extents shape(rank - axis, 1);
  shape[0] = x.type.shape[0];
  return c.l.reshape(x, shape);
}

Quantization quantization(const NodeContext& c, size_t scale, size_t zero, size_t axis, size_t rank) {
  Quantization q{along(c, c.in(scale), axis, rank), std::nullopt};
  if (c.has(zero)) q.zero = along(c, c.in(zero), axis, rank);
  return q;
}

bool is_known_zero(const Lowering& l, const Operand& x) {
  const auto data = l.data_of(x);
  if (!data) return false;
  for (const char b : data->bytes())
    if (b != 0) return false;
  return true;
}

// round(x / scale) + zero, saturated
Operand quantized(Lowering& l, const Operand& x, const Quantization& q, DType to) {
  Operand out = l.pointwise("round", {l.pointwise("div", {x, q.scale})});
  if (q.zero && !is_known_zero(l, *q.zero)) out = l.pointwise("add", {out, l.cast(*q.zero, out.type.dtype)});
  return l.pointwise("saturate:" + to_string(to), {out});
}

// x - zero as whole numbers of `to`, which holds all differences.
Operand centred(Lowering& l, const Operand& x, const std::optional<Operand>& zero, DType to) {
  const Operand wide = l.cast(x, to);
  return zero && !is_known_zero(l, *zero) ? l.pointwise("sub", {wide, l.cast(*zero, to)}) : wide;
}

// (x - zero) * scale
Operand dequantized(Lowering& l, const Operand& x, const Quantization& q) {
  const DType to = q.scale.type.dtype;
  const bool is_small = x.type.dtype.bytes() <= 2;  // f32 holds it and its differences
  const Operand difference =
      is_small && to == f32 ? centred(l, x, q.zero, f32) : l.cast(centred(l, x, q.zero, i32), to);
  return l.pointwise("mul", {difference, q.scale});
}

size_t axis_of_quantization(const NodeContext& c) {
  const Operand& x = c.in(0);
  if (x.rank() == 0 || element_count(c.in(1).type.shape) == 1) return 0;
  return static_cast<size_t>(NodeContext::axis_of(c.number("axis", 1), x.rank()));
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

// As the node says: of the tensor, of an axis, or by blocks of one.
Quantization own_quantization(const NodeContext& c) {
  const Operand& x = c.in(0);
  int64_t size = c.number("block_size", 0);
  if (size == 0) return quantization(c, 1, 2, axis_of_quantization(c), x.rank());
  const auto axis = static_cast<size_t>(NodeContext::axis_of(c.number("axis", 1), x.rank()));
  HONE_USER_CHECK(size >= 1 && size < int64_t{1} << 31 && !x.is_empty()) << "block_size=" << size;
  size = std::min(size, x.type.shape[axis]);
  Quantization q{of_blocks(c.l, x, c.in(1), axis, size), std::nullopt};
  if (c.has(2)) q.zero = of_blocks(c.l, x, c.in(2), axis, size);
  return q;
}

void quantize_linear(NodeContext& c) {
  const Operand& x = c.in(0);
  Quantization q = own_quantization(c);
  if (const int64_t precision = c.number("precision", 0))
    q.scale = c.l.cast(q.scale, dtype_of(static_cast<int>(precision), ""));
  const DType to = c.has(2)                      ? c.in(2).type.dtype
                   : c.number("output_dtype", 0) ? dtype_of(static_cast<int>(c.number("output_dtype", 0)), "")
                                                 : u8;
  c.outputs[0] = quantized(c.l, c.l.cast(x, q.scale.type.dtype), q, to);
}

void dequantize_linear(NodeContext& c) {
  const Operand out = dequantized(c.l, c.in(0), own_quantization(c));
  const int64_t to = c.number("output_dtype", 0);
  c.outputs[0] = to ? c.l.cast(out, dtype_of(static_cast<int>(to), "")) : out;
}

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

// The zero point of A is one, or one a row; that of B one, or one a column.
std::optional<Operand> row_zero(const NodeContext& c, size_t i) {
  if (!c.has(i)) return std::nullopt;
  const Operand& z = c.in(i);
  if (element_count(z.type.shape) == 1) return c.l.reshape(z, {});
  return z.rank() == 1 ? c.l.reshape(z, {z.type.shape[0], 1}) : z;
}
std::optional<Operand> column_zero(const NodeContext& c, size_t i) {
  if (!c.has(i)) return std::nullopt;
  const Operand& z = c.in(i);
  return element_count(z.type.shape) == 1 ? c.l.reshape(z, {}) : z;
}

// Of differences of bytes: s16 factors hold them, and sums are s32.
void matmul_integer(NodeContext& c) {
  c.outputs[0] = c.l.matmul(centred(c.l, c.in(0), row_zero(c, 2), i16), centred(c.l, c.in(1), column_zero(c, 3), i16));
}

void qlinear_matmul(NodeContext& c) {
  const Operand product =
      c.l.matmul(centred(c.l, c.in(0), row_zero(c, 2), i16), centred(c.l, c.in(3), column_zero(c, 5), i16));
  const Operand scale = c.l.pointwise("mul", {*row_zero(c, 1), *column_zero(c, 4)});
  const Operand real = c.l.pointwise("mul", {c.l.cast(product, f32), scale});
  c.outputs[0] = quantized(c.l, real, {c.l.reshape(c.in(6), {}), c.l.reshape(c.in(7), {})}, c.in(7).type.dtype);
}

Operand integer_conv(NodeContext& c, const Operand& x, const Operand& weight, std::optional<Operand> bias) {
  NodeContext conv{c.node, c.opset, {x, weight, std::move(bias)}, {Operand{}}, c.l};
  rows().at(":Conv")(conv);
  return conv.outputs[0];
}

void conv_integer(NodeContext& c) {
  std::optional<Operand> weight_zero;
  if (c.has(3)) weight_zero = along(c, c.in(3), 0, c.in(1).rank());
  c.outputs[0] =
      integer_conv(c, centred(c.l, c.in(0), c.has(2) ? std::optional(c.l.reshape(c.in(2), {})) : std::nullopt, i16),
                   centred(c.l, c.in(1), weight_zero, i16), std::nullopt);
}

void qlinear_conv(NodeContext& c) {
  const size_t rank = c.in(3).rank();
  const Operand x = centred(c.l, c.in(0), c.l.reshape(c.in(2), {}), i16),
                weight = centred(c.l, c.in(3), along(c, c.in(5), 0, rank), i16);
  const Operand sums = integer_conv(c, x, weight, c.has(8) ? c.inputs[8] : std::nullopt);
  const Operand scale = c.l.pointwise("mul", {c.l.reshape(c.in(1), {}), along(c, c.in(4), 1, rank)});
  const Operand real = c.l.pointwise("mul", {c.l.cast(sums, f32), scale});
  c.outputs[0] = quantized(c.l, real, {c.l.reshape(c.in(6), {}), c.l.reshape(c.in(7), {})}, c.in(7).type.dtype);
}

// --- ONNX Runtime's own: com.microsoft ---

Operand dequantized_input(NodeContext& c, size_t i) {
  return dequantized(c.l, c.in(i), quantization(c, i + 1, i + 2, 0, c.in(i).rank()));
}

// A, its scale and zero point, B with its own, those of the result.
void qlinear_add(NodeContext& c) {
  const Operand sum = c.l.pointwise("add", {dequantized_input(c, 0), dequantized_input(c, 3)});
  c.outputs[0] = quantized(c.l, sum, quantization(c, 6, 7, 0, 0), c.in(0).type.dtype);
}

void qlinear_global_average_pool(NodeContext& c) {
  HONE_USER_CHECK(c.number("channels_last", 0) == 0) << "channels_last is not supported";
  const Operand x = dequantized_input(c, 0);
  Extents axes;
  for (size_t d = 2; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  c.outputs[0] = quantized(c.l, c.l.reduce("mean", x, axes, true), quantization(c, 3, 4, 0, 0), c.in(0).type.dtype);
}

// A and B with scales and zero points, C of s32 in units of both scales, those of the result (none: f32).
void qgemm(NodeContext& c) {
  Operand a = centred(c.l, c.in(0), row_zero(c, 2), i16), b = centred(c.l, c.in(3), column_zero(c, 5), i16);
  if (c.number("transA", 0)) a = c.l.transpose(a, {1, 0});
  if (c.number("transB", 0)) {
    HONE_USER_CHECK(element_count(c.in(4).type.shape) == 1 && element_count(c.in(5).type.shape) == 1)
        << "transB with scales by column is not supported";
    b = c.l.transpose(b, {1, 0});
  }
  Operand sums = c.l.matmul(a, b);
  if (c.has(6)) sums = c.l.pointwise("add", {sums, c.in(6)});
  Operand scale = c.l.pointwise("mul", {c.l.reshape(c.in(1), {}), *column_zero(c, 4)});
  if (const double alpha = c.real("alpha", 1); alpha != 1)
    scale = c.l.pointwise(fmt::format("mul[{}]", number_text(alpha, f32)), {scale});
  const Operand real = c.l.pointwise("mul", {c.l.cast(sums, f32), scale});
  c.outputs[0] = c.has(7) ? quantized(c.l, real, quantization(c, 7, 8, 0, 0), c.in(0).type.dtype) : real;
}

void qlinear_mul(NodeContext& c) {
  const Operand product = c.l.pointwise("mul", {dequantized_input(c, 0), dequantized_input(c, 3)});
  c.outputs[0] = quantized(c.l, product, quantization(c, 6, 7, 0, 0), c.in(0).type.dtype);
}

// X, its scale and zero point, those of the result; the operator behind `QLinear` on floats.
void qlinear_of_one(NodeContext& c) {
  HONE_USER_CHECK(c.number("channels_last", 0) == 0) << "channels_last is not supported";
  onnx::Node plain = c.node;
  plain.set_op_type(c.node.op_type().substr(std::string_view("QLinear").size()));
  NodeContext own{plain, c.number("opset", 13), {dequantized_input(c, 0)}, {Operand{}}, c.l, {}};
  rows().at(":" + plain.op_type())(own);
  c.outputs[0] = quantized(c.l, own.outputs[0], quantization(c, 3, 4, 0, 0), c.in(0).type.dtype);
}

// The result's scale and zero point, then each part with its own.
void qlinear_concat(NodeContext& c) {
  HONE_USER_CHECK(c.inputs.size() >= 5 && c.inputs.size() % 3 == 2) << "it has " << c.inputs.size() << " inputs";
  std::vector<Operand> parts;
  for (size_t i = 2; i < c.inputs.size(); i += 3) parts.push_back(dequantized_input(c, i));
  const Operand all = c.l.concat(parts, NodeContext::axis_of(c.number("axis", 0), parts[0].rank()));
  c.outputs[0] = quantized(c.l, all, quantization(c, 0, 1, 0, 0), c.in(2).type.dtype);
}

// Sums of whole numbers times both scales, and a bias.
Operand scaled_product(NodeContext& c, const Operand& sums, const Operand& a_scale, const Operand& b_scale,
                       size_t bias) {
  const Operand scale = c.l.pointwise("mul", {c.l.reshape(a_scale, {}), b_scale});
  const Operand real = c.l.pointwise("mul", {c.l.cast(sums, f32), scale});
  return c.has(bias) ? c.l.pointwise("add", {real, c.in(bias)}) : real;
}

void matmul_integer_to_float(NodeContext& c) {
  const Operand sums =
      c.l.matmul(centred(c.l, c.in(0), row_zero(c, 4), i16), centred(c.l, c.in(1), column_zero(c, 5), i16));
  c.outputs[0] = scaled_product(c, sums, c.in(2), *column_zero(c, 3), 6);
}

// A of floats, quantised by its range; B with its scale and zero point.
void dynamic_quantize_matmul(NodeContext& c) {
  NodeContext a{c.node, 13, {c.in(0)}, std::vector<Operand>(3), c.l, {}};
  dynamic_quantize_linear(a);
  const Operand sums =
      c.l.matmul(centred(c.l, a.outputs[0], a.outputs[2], i16), centred(c.l, c.in(1), column_zero(c, 3), i16));
  c.outputs[0] = scaled_product(c, sums, a.outputs[1], *column_zero(c, 2), 4);
}

}  // namespace

void add_quantized_rows(RowTable& t) {
  t[":QuantizeLinear"] = &quantize_linear;
  t[":DequantizeLinear"] = &dequantize_linear;
  t[":DynamicQuantizeLinear"] = &dynamic_quantize_linear;
  t[":MatMulInteger"] = &matmul_integer;
  t[":QLinearMatMul"] = &qlinear_matmul;
  t[":ConvInteger"] = &conv_integer;
  t[":QLinearConv"] = &qlinear_conv;
  t["com.microsoft:QuantizeLinear"] = &quantize_linear;
  t["com.microsoft:DequantizeLinear"] = &dequantize_linear;
  t["com.microsoft:QLinearAdd"] = &qlinear_add;
  t["com.microsoft:QLinearMul"] = &qlinear_mul;
  for (const char* op : {"QLinearSigmoid", "QLinearLeakyRelu", "QLinearAveragePool", "QLinearSoftmax"})
    t[std::string("com.microsoft:") + op] = &qlinear_of_one;
  t["com.microsoft:QLinearConcat"] = &qlinear_concat;
  t["com.microsoft:MatMulIntegerToFloat"] = &matmul_integer_to_float;
  t["com.microsoft:DynamicQuantizeMatMul"] = &dynamic_quantize_matmul;
  t["com.microsoft:QLinearGlobalAveragePool"] = &qlinear_global_average_pool;
  t["com.microsoft:QGemm"] = &qgemm;
}

}  // namespace hone::onnx
