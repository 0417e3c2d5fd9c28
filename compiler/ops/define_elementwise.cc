// elementwise and reduce as compute definitions.
#include <fmt/format.h>

#include "compiler/ops/definition.h"
#include "compiler/ops/elementwise.h"

namespace hone {
namespace {

std::vector<std::string> axis_names(size_t count) {
  std::vector<std::string> names;
  for (size_t d = 0; d < count; ++d) names.push_back(fmt::format("i{}", d));
  return names;
}

// An operand's element for the output's element at `i`: where it has one element along an axis, that one.
Expr broadcast_at(const Tensor& t, std::vector<Expr> i) {
  for (size_t d = 0; d < i.size(); ++d)
    if (t->shape[d] == 1) i[d] = make_int(0);
  return t.at(std::move(i));
}

}  // namespace

Definition elementwise(const Workload& w) {
  const ElementwiseShape s = elementwise_shape(w);
  const DType t = dtypes_of(w).in;
  Definition d;
  Tensor value = placeholder("x", s.shape, t);
  d.inputs.emplace_back(value, ParamRole::kInput);
  size_t operands = 0;
  for (size_t f = 0; f < s.functions.size(); ++f) {
    const ElementwiseFunction& function = *s.functions[f];
    std::vector<Tensor> reads{value};
    if (function.binary) {
      const Tensor operand = placeholder(fmt::format("y{}", operands + 1), s.operands[operands], t);
      ++operands;
      d.inputs.emplace_back(operand, ParamRole::kInput);
      reads.push_back(operand);
    }
    const std::string name = f + 1 == s.functions.size() ? "out" : fmt::format("{}{}", function.name, f + 1);
    value = compute(name, s.shape, axis_names(s.shape.size()), reads, [&](const std::vector<Expr>& i) {
      return function.apply(reads[0].at(i), function.binary ? broadcast_at(reads[1], i) : Expr());
    });
  }
  d.output = value;
  return d;
}

Definition reduction(const Workload& w) {
  const ReduceShape s = reduce_shape(w);
  const Tensor data = placeholder("data", s.shape, dtypes_of(w).in);
  Definition d;
  d.inputs = {{data, ParamRole::kInput}};
  const bool keep = w.text("keepdims") == "1";
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
          if (!is_reduced || keep) ++next_out;
        }
        const Expr value = data.at(at);
        return s.op == "max" ? max_over(value, axes) : s.op == "min" ? min_over(value, axes) : sum(value, axes);
      });
  d.output = s.op != "mean"
                 ? reduced
                 : compute("out", s.out, axis_names(s.out.size()), {reduced}, [&](const std::vector<Expr>& i) {
                     return reduced.at(i) * make_const(1.0 / static_cast<double>(s.length), data->buffer->dtype);
                   });
  return d;
}

}  // namespace hone
