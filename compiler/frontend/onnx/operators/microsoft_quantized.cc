// com.microsoft's quantised operators: ONNX Runtime's own, which its quantiser and its optimizers make.
#include <algorithm>
#include <numeric>

#include "compiler/frontend/onnx/node/quantized_node.h"
#include "compiler/frontend/onnx/operators/norms.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

constexpr int64_t kOpset = 13;  // whose definitions ONNX's operators have here

// The result of ONNX's operator `op` on other inputs, with this node's attributes.
Operand by_row(NodeContext& c, const std::string& op, int64_t opset,
               const std::vector<std::optional<Operand>>& inputs) {
  onnx::Node plain = c.node;
  plain.set_op_type(op);
  NodeContext own{plain, opset, inputs, {Operand{}}, c.l, {}};
  converters().at(":" + op)(own);
  return own.outputs[0];
}

Operand channels_moved_second(Lowering& l, const Operand& x) {
  Extents perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + 1, perm.end() - 1, perm.end());
  return l.transpose(x, perm);
}
Operand channels_moved_last(Lowering& l, const Operand& x) {
  Extents perm(x.rank());
  std::iota(perm.begin(), perm.end(), 0);
  std::rotate(perm.begin() + 1, perm.begin() + 2, perm.end());
  return l.transpose(x, perm);
}

bool is_channels_last(const NodeContext& c) { return c.number("channels_last", 0) != 0; }
Operand channels_second(const NodeContext& c, const Operand& x) {
  HONE_USER_CHECK(!is_channels_last(c) || x.rank() >= 3) << "channels_last of " << to_string(x.type);
  return is_channels_last(c) ? channels_moved_second(c.l, x) : x;
}
Operand channels_as_given(const NodeContext& c, const Operand& x) {
  return is_channels_last(c) ? channels_moved_last(c.l, x) : x;
}

Operand dequantized_input(NodeContext& c, size_t i) {
  return dequantized(c.l, c.in(i), quantization(c, i + 1, i + 2, 0, c.in(i).rank()));
}

// A, its scale and zero point, B with its own, those of the result.
void qlinear_add(NodeContext& c) {
  const Operand sum = c.l.pointwise("add", {dequantized_input(c, 0), dequantized_input(c, 3)});
  c.outputs[0] = quantized(c.l, sum, quantization(c, 6, 7, 0, 0), c.in(0).type.dtype);
}

void qlinear_global_average_pool(NodeContext& c) {
  const Operand x = dequantized_input(c, 0);
  HONE_USER_CHECK(x.rank() >= 3) << to_string(x.type);
  const size_t first = is_channels_last(c) ? 1 : 2;
  Extents axes;
  for (size_t d = first; d < x.rank() + first - 2; ++d) axes.push_back(static_cast<int64_t>(d));
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
  Operand scale = c.l.pointwise("mul", {c.l.reshape(c.in(1), {}), column_scale(c, 4)});
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
  const std::string op = c.node.op_type().substr(std::string_view("QLinear").size());
  const Operand x = channels_second(c, dequantized_input(c, 0));
  const Operand y = by_row(c, op, c.number("opset", kOpset), {x});
  c.outputs[0] = quantized(c.l, channels_as_given(c, y), quantization(c, 3, 4, 0, 0), c.in(0).type.dtype);
}

// Bytes of a pooling are compared as they are.
void nhwc_max_pool(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() >= 3) << to_string(x.type);
  c.outputs[0] = channels_moved_last(c.l, by_row(c, "MaxPool", kOpset, {channels_moved_second(c.l, x)}));
}

// ONNX's, also of images whose channels are the last axis; weights are as in ONNX.
void contrib_qlinear_conv(NodeContext& c) {
  NodeContext own{c.node, c.opset, c.inputs, {Operand{}}, c.l, {}};
  own.inputs[0] = channels_second(c, c.in(0));
  qlinear_conv(own);
  c.outputs[0] = channels_as_given(c, own.outputs[0]);
}

// A condition; x and y, each with its scale and zero point, where it holds and where not; those of the result.
void qlinear_where(NodeContext& c) {
  const Operand z = c.l.pointwise("where", {dequantized_input(c, 1), c.in(0), dequantized_input(c, 4)});
  c.outputs[0] = quantized(c.l, z, quantization(c, 7, 8, 0, 0), c.in(1).type.dtype);
}

// Input and weights with their scales (3, 4) and zero points (6, 7), and the other inputs of Attention.
void qattention(NodeContext& c) {
  HONE_USER_CHECK(c.in(0).rank() == 3 && c.in(1).rank() == 2)
      << to_string(c.in(0).type) << " times " << to_string(c.in(1).type);
  const auto given = [&](size_t i) { return c.has(i) ? std::optional(c.in(i)) : std::nullopt; };
  NodeContext own{c.node,
                  1,
                  {dequantized(c.l, c.in(0), quantization(c, 3, 6, 0, 3)),
                   dequantized(c.l, c.in(1), quantization(c, 4, 7, 1, 2)), given(2), given(5), given(8)},
                  c.outputs,
                  c.l,
                  c.is_wanted};
  converters().at("com.microsoft:Attention")(own);
  c.outputs = own.outputs;
}

// The parts of an LSTM with weights of bytes, [directions, inputs, 4 * hidden], with scales of a direction or of each
// column. Numbers stay the floats that they are: ONNX Runtime rounds inputs and states to bytes on the way, by the
// range of each step.
void dynamic_quantize_lstm(NodeContext& c) {
  const auto weights = [&](size_t i, size_t scale) {
    const Operand& w = c.in(i);
    HONE_USER_CHECK(w.rank() == 3) << "weights " << to_string(w.type);
    const int64_t directions = w.type.shape[0], columns = w.type.shape[2];
    const auto of_columns = [&](const Operand& x) {
      const bool is_each = x.rank() == 2;
      HONE_USER_CHECK(element_count(x.type.shape) == (is_each ? directions * columns : directions))
          << to_string(x.type) << " for weights " << to_string(w.type);
      return c.l.reshape(x, {directions, is_each ? columns : 1, 1});
    };
    Quantization q{of_columns(c.in(scale)), std::nullopt};
    if (c.has(scale + 1)) q.zero = of_columns(c.in(scale + 1));
    return dequantized(c.l, c.l.transpose(w, {0, 2, 1}), q);
  };
  std::vector<std::optional<Operand>> inputs(c.inputs.begin(), c.inputs.begin() + std::min<size_t>(8, c.inputs.size()));
  HONE_USER_CHECK(inputs.size() >= 3) << "it has " << inputs.size() << " inputs";
  inputs[1] = weights(1, 8);
  inputs[2] = weights(2, 10);
  NodeContext own{c.node, kOpset, std::move(inputs), c.outputs, c.l, c.is_wanted};
  converters().at(":LSTM")(own);
  c.outputs = own.outputs;
}

// The result's scale and zero point, then each part with its own.
void qlinear_concat(NodeContext& c) {
  HONE_USER_CHECK(c.inputs.size() >= 5 && c.inputs.size() % 3 == 2) << "it has " << c.inputs.size() << " inputs";
  std::vector<Operand> parts;
  for (size_t i = 2; i < c.inputs.size(); i += 3) parts.push_back(dequantized_input(c, i));
  const Operand all = c.l.concat(parts, axis_of(c.number("axis", 0), parts[0].rank()));
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
  c.outputs[0] = scaled_product(c, sums, c.in(2), column_scale(c, 3), 6);
}

// A of floats, quantised by its range; B with its scale and zero point.
void dynamic_quantize_matmul(NodeContext& c) {
  NodeContext a{c.node, kOpset, {c.in(0)}, std::vector<Operand>(3), c.l, {}};
  dynamic_quantize_linear(a);
  const Operand sums =
      c.l.matmul(centred(c.l, a.outputs[0], a.outputs[2], i16), centred(c.l, c.in(1), column_zero(c, 3), i16));
  c.outputs[0] = scaled_product(c, sums, a.outputs[1], column_scale(c, 2), 4);
}

// As EmbedLayerNormalization, of tables of bytes: 2 to 6, with scales 8 to 12 and zero points 13 to 17.
void qembed_layer_norm(NodeContext& c) {
  Lowering& l = c.l;
  const Operand &ids = c.in(0), &words = c.in(2), &positions = c.in(3);
  HONE_USER_CHECK(ids.rank() == 2 && words.rank() == 2 && positions.rank() == 2)
      << to_string(ids.type) << " of " << to_string(words.type) << " and " << to_string(positions.type);
  const auto real = [&](size_t table, const Operand& x) {
    return dequantized(l, x, quantization(c, table + 6, table + 11, 0, 0));
  };
  const auto looked_up = [&](size_t table, const Operand& index) {
    HONE_USER_CHECK(c.in(table).rank() == 2) << "a table " << to_string(c.in(table).type);
    Extents shape = index.type.shape;
    shape.push_back(c.in(table).type.shape[1]);
    return real(table, l.add("gather", {{"axis", "0"}}, {l.value(c.in(table)), l.value(index)}, shape));
  };
  const int64_t tokens = ids.type.shape[1];
  HONE_USER_CHECK(positions.type.shape[0] >= tokens) << tokens << " tokens of " << to_string(positions.type);
  Operand sum = l.pointwise(
      "add", {looked_up(2, ids), real(3, l.slice(positions, {0, 0}, {1, 1}, {tokens, positions.type.shape[1]}))});
  if (c.has(1)) sum = l.pointwise("add", {sum, looked_up(4, c.in(1))});
  write_embeddings(c, sum, real(5, c.in(5)), real(6, c.in(6)));
}

}  // namespace

void add_microsoft_quantized_operators(ConverterTable& t) {
  t["com.microsoft:QLinearAdd"] = &qlinear_add;
  t["com.microsoft:QLinearMul"] = &qlinear_mul;
  for (const char* op : {"QLinearSigmoid", "QLinearLeakyRelu", "QLinearAveragePool", "QLinearSoftmax"})
    t[std::string("com.microsoft:") + op] = &qlinear_of_one;
  t["com.microsoft:QLinearConcat"] = &qlinear_concat;
  t["com.microsoft:MatMulIntegerToFloat"] = &matmul_integer_to_float;
  t["com.microsoft:DynamicQuantizeMatMul"] = &dynamic_quantize_matmul;
  t["com.microsoft:QLinearGlobalAveragePool"] = &qlinear_global_average_pool;
  t["com.microsoft:QGemm"] = &qgemm;
  t["com.microsoft:QLinearConv"] = &contrib_qlinear_conv;
  t["com.microsoft:QLinearWhere"] = &qlinear_where;
  t["com.microsoft:NhwcMaxPool"] = &nhwc_max_pool;
  t["com.microsoft:QAttention"] = &qattention;
  t["com.microsoft:QEmbedLayerNormalization"] = &qembed_layer_norm;
  t["com.microsoft:DynamicQuantizeLSTM"] = &dynamic_quantize_lstm;
}

}  // namespace hone::onnx
