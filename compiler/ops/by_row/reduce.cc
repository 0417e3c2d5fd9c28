#include "compiler/ops/by_row/reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/ir/layout.h"
#include "compiler/ops/attributes/split_text.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

std::vector<int64_t> parse_axes(std::string_view text, int64_t rank) {
  std::vector<int64_t> axes;
  if (text == "all") {
    for (int64_t a = 0; a < rank; ++a) axes.push_back(a);
    return axes;
  }
  for (const std::string& part : split_text(text, ':')) {
    const int64_t axis = parse_number("axes", part, -rank, rank - 1);
    axes.push_back(axis < 0 ? axis + rank : axis);
  }
  std::sort(axes.begin(), axes.end());
  HONE_USER_CHECK(std::adjacent_find(axes.begin(), axes.end()) == axes.end())
      << "axes=" << text << " names an axis twice";
  return axes;
}

// Axes of `shape` joined by colons, negative ones from the end, or `all`.
AttributeParser axes() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    std::vector<int64_t> value = parse_axes(text, static_cast<int64_t>(shape.size()));
    return ParsedAttribute{fmt::format("{}", fmt::join(value, ":")), std::move(value)};
  };
}

bool takes_only_floats(const std::string& op) { return op == "l2" || op == "log_sum"; }

ReduceShape shape_of_reduce(const Attributes& a) {
  ReduceShape s;
  s.op = a.get<std::string>("op");
  s.shape = a.get<std::vector<int64_t>>("shape");
  s.axes = a.get<std::vector<int64_t>>("axes");
  s.keepdims = a.get<bool>("keepdims");
  const DType in = a.get<DTypes>("dtype").in;
  HONE_USER_CHECK(in.is_float() || !takes_only_floats(s.op)) << "op=" << s.op << " takes floats, not " << to_string(in);
  for (size_t d = 0; d < s.shape.size(); ++d) {
    const bool reduced = std::find(s.axes.begin(), s.axes.end(), static_cast<int64_t>(d)) != s.axes.end();
    if (reduced) s.length *= s.shape[d];
    if (!reduced || s.keepdims) s.out.push_back(reduced ? 1 : s.shape[d]);
  }
  if (s.out.empty()) s.out.push_back(1);
  return s;
}

// x / n; whole numbers toward 0, as ONNX divides them.
Expr divided(const Expr& x, int64_t n) {
  if (x->dtype.is_float()) return x * make_const(1.0 / static_cast<double>(n), x->dtype);
  const Expr zero = make_const(0, x->dtype);
  const Expr positive = floor_div(max(x, zero), n);
  return x->dtype.code == TypeCode::kInt ? positive - floor_div(max(zero - x, zero), n) : positive;
}

// The term that an element adds to the sum, in the sums' type.
Expr term_of(const std::string& op, const Expr& x) {
  if (op == "sum_square" || op == "l2") return x * x;
  return op == "l1" ? call(Intrinsic::kAbs, {x}) : x;
}

// The function applied to the reduced value.
bool has_last_step(const std::string& op) { return op == "mean" || takes_only_floats(op); }
Expr last_step(const ReduceShape& s, const Expr& reduced) {
  if (s.op == "mean") return divided(reduced, s.length);
  return call(s.op == "l2" ? Intrinsic::kSqrt : Intrinsic::kLog, {reduced});
}

AttributeTexts infer_reduce(std::span<const TensorType> inputs) {
  const TensorType& data = input_at(inputs, 0, "data");
  return {{"shape", text_of_extents(data.shape)}, {"dtype", to_string(data.dtype)}};
}

}  // namespace

const ReduceShape& reduce_shape(const Workload& w) { return w.shape_as<ReduceShape>(); }

Definition reduction(const Workload& w) {
  const ReduceShape& s = reduce_shape(w);
  const Tensor data = placeholder("data", s.shape, dtypes_of(w).in);
  Definition d;
  d.inputs = {{data, ParamRole::kInput}};
  const Tensor reduced =
      compute_reduce("reduce", s.out, axis_names(s.out.size()), {data}, [&](const std::vector<Expr>& i) {
        std::vector<Axis> axes;
        std::vector<Expr> at;
        size_t next_axis = 0, next_out = 0;
        for (size_t dim = 0; dim < s.shape.size(); ++dim) {
          const bool is_reduced = next_axis < s.axes.size() && s.axes[next_axis] == static_cast<int64_t>(dim);
          if (is_reduced) {
            axes.push_back(reduce_axis(fmt::format("k{}", dim), s.shape[dim]));
            at.push_back(axes.back());
            ++next_axis;
          } else {
            at.push_back(i[next_out]);
          }
          if (!is_reduced || s.keepdims) ++next_out;
        }
        const Expr value = data.at(at);
        return s.op == "max"   ? max_over(value, axes)
               : s.op == "min" ? min_over(value, axes)
                               : sum(term_of(s.op, cast(dtypes_of(w).accumulate, value)), axes);
      });
  d.anchor = reduced;
  d.outputs = {reduced};
  if (has_last_step(s.op))
    d.outputs = {compute(has_epilogue_stage(w, reduced->buffer->dtype) ? s.op : "out", s.out, axis_names(s.out.size()),
                         {reduced}, [&](const std::vector<Expr>& i) { return last_step(s, reduced.at(i)); })};
  add_epilogue(w, std::nullopt, axis_names(s.out.size()), &d);
  return d;
}

Operator reduce_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "reduce";
  op.summary = "sum, mean, max, min, sum_square, l1, l2 or log_sum over axes: axes=2:3, -1 (the last), all";
  op.attributes = {
      {"op", "sum", one_of({"sum", "mean", "max", "min", "sum_square", "l1", "l2", "log_sum"})},
      {"shape", "1x64x56x56", extents()},
      {"axes", "2:3", axes()},
      {"keepdims", "0", flag()},
      {"dtype", "f32", number_dtype()},
      {"epilogue", "none", epilogue(functions, {[](const Attributes& a) { return shape_of_reduce(a).out; }}), true}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_reduce(a)); };
  op.infer = &infer_reduce;
  op.define = &reduction;
  op.flops = [](const Workload& w) { return static_cast<double>(element_count(reduce_shape(w).shape)); };
  return op;
}

}  // namespace hone
