// Reductions, and what works on rows: softmax and extremes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/frontend/lowering/operators/product_over.h"
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

// The result of a reduction of no elements: the neutral number, and then the operator's function of it.
Operand of_nothing(Lowering& l, const std::string& op, const Operand& x, const Extents& axes, bool keepdims) {
  TensorType type{x.type.dtype, {}};
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool is_reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d));
    if (!is_reduced || keepdims) type.shape.push_back(is_reduced ? 1 : x.type.shape[d]);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (op == "ReduceProd") return l.filled(1, type);
  if (op == "ReduceMean" || op == "ReduceMax" || op == "ReduceMin") {
    const bool is_most = op == "ReduceMax";
    if (type.dtype.is_float())
      return l.filled(op == "ReduceMean" ? std::numeric_limits<double>::quiet_NaN()
                      : is_most          ? -infinity
                                         : infinity,
                      type);
    HONE_USER_CHECK(op != "ReduceMean") << "whole numbers have no mean of no elements";
    if (element_count(type.shape) == 0) return {kNoValue, type};
    const bool has_sign = type.dtype.code == TypeCode::kInt;
    const uint64_t all_bits = type.dtype.is_bool() ? 1 : ~uint64_t{0} >> (64 - type.dtype.bits + (has_sign ? 1 : 0));
    const auto number = static_cast<int64_t>(is_most ? has_sign ? ~all_bits : 0 : all_bits);
    return l.broadcast(l.cast(l.constant(TensorData::of_numbers({number}).reshaped({})), type.dtype), type.shape);
  }
  const bool is_log = op.starts_with("ReduceLog");
  HONE_USER_CHECK(!is_log || type.dtype.is_float()) << "no elements have no logarithm that is a whole number";
  return l.filled(is_log ? -infinity : 0, type);
}

void reduction(NodeContext& c) {
  const std::string& op = c.node.op_type();
  const Operand& x = c.in(0);
  const int64_t since = op == "ReduceSum" ? 13 : 18;
  std::optional<Extents> given = c.opset < since ? c.numbers("axes")
                                 : c.has(1)      ? std::optional(c.constant_numbers(1, "axes"))
                                                 : std::nullopt;
  if (given && given->empty()) given.reset();
  Extents axes;
  if (given) {
    for (const int64_t a : *given) axes.push_back(axis_of(a, x.rank()));
    std::sort(axes.begin(), axes.end());
    HONE_USER_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end()) << "an axis stands twice in its axes";
  } else if (c.opset >= since && c.number("noop_with_empty_axes", 0)) {
    return void(c.outputs[0] = x);
  } else {
    for (size_t d = 0; d < x.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  }
  const bool keepdims = c.number("keepdims", 1) != 0;
  if (x.is_empty()) return void(c.outputs[0] = of_nothing(c.l, op, x, axes, keepdims));
  // The largest of bools says whether any holds, the smallest whether all do.
  if (x.type.dtype.is_bool() && (op == "ReduceMax" || op == "ReduceMin")) {
    const Operand bytes = c.l.cast(x, u8);
    return void(c.outputs[0] = c.l.cast(c.l.reduce(op == "ReduceMax" ? "max" : "min", bytes, axes, keepdims), boolean));
  }
  const auto reduce = [&](const char* kind, const Operand& value) { return c.l.reduce(kind, value, axes, keepdims); };
  const auto map = [&](const char* function, const Operand& value) { return c.l.pointwise(function, {value}); };
  Operand out;
  if (op == "ReduceSum")
    out = reduce("sum", x);
  else if (op == "ReduceMean")
    out = reduce("mean", x);
  else if (op == "ReduceMax")
    out = reduce("max", x);
  else if (op == "ReduceMin")
    out = reduce("min", x);
  else if (op == "ReduceProd")
    out = product_over(c.l, x, axes, keepdims);
  else if (op == "ReduceL1")
    out = reduce("sum", map("abs", x));
  else if (op == "ReduceL2")
    out = map("sqrt", reduce("sum", map("square", x)));
  else if (op == "ReduceSumSquare")
    out = reduce("sum", map("square", x));
  else if (op == "ReduceLogSum")
    out = map("log", reduce("sum", x));
  else {  // ReduceLogSumExp; the largest is taken out, so that no exp overflows
    const Operand most = c.l.reduce("max", x, axes, true);
    const Operand sum = reduce("sum", map("exp", c.l.pointwise("sub", {x, most})));
    out = c.l.pointwise("add", {map("log", sum), c.l.reshape(most, sum.type.shape)});
  }
  c.outputs[0] = out;
}

void arg_extreme(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t axis = axis_of(c.number("axis", 0), x.rank());
  const bool keepdims = c.number("keepdims", 1) != 0;
  Extents shape = x.type.shape;
  if (keepdims)
    shape[static_cast<size_t>(axis)] = 1;
  else
    shape.erase(shape.begin() + axis);
  if (element_count(shape) == 0) return void(c.outputs[0] = {kNoValue, {i64, shape}});
  c.outputs[0] = c.l.add(c.node.op_type() == "ArgMax" ? "argmax" : "argmin",
                         {{"axis", std::to_string(axis)},
                          {"keepdims", keepdims ? "1" : "0"},
                          {"last", std::to_string(c.number("select_last_index", 0))}},
                         {c.l.value(x)}, shape);
}

void top_k(NodeContext& c) {
  const Operand& x = c.in(0);
  const int64_t axis = axis_of(c.number("axis", -1), x.rank());
  const int64_t k = c.opset < 10 ? c.number("k", 0) : c.constant_number(1, "k");
  Extents shape = x.type.shape;
  shape[static_cast<size_t>(axis)] = k;
  HONE_USER_CHECK(k >= 0 && k <= x.type.shape[static_cast<size_t>(axis)]) << "k=" << k << " of " << to_string(x.type);
  if (k == 0 || x.is_empty()) {
    c.outputs[0] = {kNoValue, {x.type.dtype, shape}};
    if (c.outputs.size() > 1) c.outputs[1] = {kNoValue, {i64, shape}};
    return;
  }
  const Operand positions = c.l.add("top_k",
                                    {{"axis", std::to_string(axis)},
                                     {"k", std::to_string(k)},
                                     {"largest", std::to_string(c.number("largest", 1) != 0)}},
                                    {c.l.value(x)}, shape);
  c.outputs[0] =
      c.l.add("gather_elements", {{"axis", std::to_string(axis)}}, {c.l.value(x), c.l.value(positions)}, shape);
  if (c.outputs.size() > 1) c.outputs[1] = positions;
}

// softmax and log_softmax by their parts, where there is no operator for them.
Operand softmax_of_parts(Lowering& l, const Operand& x, int64_t axis, bool is_log) {
  const Operand shifted = l.pointwise("sub", {x, l.reduce("max", x, {axis}, true)});
  const Operand exps = l.pointwise("exp", {shifted}), sum = l.reduce("sum", exps, {axis}, true);
  return is_log ? l.pointwise("sub", {shifted, l.pointwise("log", {sum})}) : l.pointwise("div", {exps, sum});
}

// Up to opset 12 the axes from `axis` on are one.
void softmax(NodeContext& c) {
  const Operand& x = c.in(0);
  const std::string op = c.node.op_type() == "Softmax" ? "softmax" : "log_softmax";
  const int64_t axis = axis_of(c.number("axis", c.opset < 13 ? 1 : -1), x.rank());
  const auto at = x.type.shape.begin() + axis;
  const bool joins = c.opset < 13;
  const Operand rows =
      joins ? c.l.reshape(x, {element_count({x.type.shape.begin(), at}), element_count({at, x.type.shape.end()})}) : x;
  const int64_t rows_axis = joins ? 1 : axis;
  const Operand out = c.l.b.operators().find(op)
                          ? c.l.add(op, {{"axis", std::to_string(rows_axis)}}, {c.l.value(rows)}, rows.type.shape)
                          : softmax_of_parts(c.l, rows, rows_axis, op == "log_softmax");
  c.outputs[0] = c.l.reshape(out, x.type.shape);
}

// (x - mean) / (deviation + 1e-9)
void mean_variance_normalization(NodeContext& c) {
  const Operand& x = c.in(0);
  Extents axes;
  for (const int64_t a : c.numbers("axes").value_or(Extents{0, 2, 3})) axes.push_back(axis_of(a, x.rank()));
  std::sort(axes.begin(), axes.end());
  const Operand centred = c.l.pointwise("sub", {x, c.l.reduce("mean", x, axes, true)});
  const Operand variance = c.l.reduce("mean", c.l.pointwise("square", {centred}), axes, true);
  c.outputs[0] =
      c.l.pointwise("div", {centred, c.l.pointwise("add[0.000000001]", {c.l.pointwise("sqrt", {variance})})});
}

}  // namespace

void add_reduction_operators(ConverterTable& t) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"}) t[std::string(":") + op] = &reduction;
  for (const char* op : {"ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
    t[std::string(":") + op] = &in_f32<&reduction>;
  t[":ArgMax"] = &arg_extreme;
  t[":ArgMin"] = &arg_extreme;
  t[":TopK"] = &top_k;
  t[":Softmax"] = &softmax;
  t[":LogSoftmax"] = &softmax;
  t[":MeanVarianceNormalization"] = &in_f32<&mean_variance_normalization>;
}

}  // namespace hone::onnx
