#include "compiler/ops/by_row/rows.h"

#include <fmt/format.h>

#include <charconv>

#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/prologue.h"

namespace hone {

const RowsShape& rows_shape(const Workload& w) { return w.shape_as<RowsShape>(); }

RowsShape rows_shape_of(const Attributes& a, bool to_last) {
  RowsShape s;
  s.shape = s.per_row = a.get<std::vector<int64_t>>("shape");
  const auto first = static_cast<size_t>(a.number("axis"));
  for (size_t d = first; d < (to_last ? s.shape.size() : first + 1); ++d) {
    s.axes.push_back(d);
    s.per_row[d] = 1;
    s.extents.push_back(s.shape[d]);
    s.length *= s.shape[d];
  }
  return s;
}

AttributeParser small_number() {
  return [](std::string_view text, const AttributeContext& context) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    HONE_USER_CHECK(error == std::errc() && end == text.data() + text.size() && value >= 0 && value <= 1)
        << context.name << "=" << text << " is not a number from 0 to 1";
    value += 0.0;  // -0 is 0
    return ParsedAttribute{fmt::format("{}", value), value};
  };
}

Rows::Rows(const Workload& w, const std::vector<std::string>& constant_names)
    : shape(rows_shape(w)), type(dtypes_of(w).accumulate) {
  const DType in = dtypes_of(w).in;
  x = placeholder("x", shape.shape, in);
  definition.inputs = {{x, ParamRole::kInput}};
  for (const std::string& name : constant_names) {
    constants.emplace_back();
    if (!w.attributes.get<bool>(name)) continue;
    constants.back() = placeholder(name, shape.extents, in);
    definition.inputs.emplace_back(constants.back(), ParamRole::kConstant);
  }
  x = through_prologue(w, x, std::nullopt, &definition);
}

Expr Rows::x_at(const std::vector<Expr>& i) const { return cast(type, x.at(i)); }

Tensor Rows::reduce(const std::string& name, const std::vector<Tensor>& reads,
                    Reduction (*kind)(Expr, std::vector<Axis>),
                    const std::function<Expr(const std::vector<Expr>&)>& value) const {
  return compute_reduce(name, shape.per_row, axis_names(shape.shape.size()), reads, [&](std::vector<Expr> i) {
    std::vector<Axis> axes;
    for (const size_t d : shape.axes) {
      axes.push_back(reduce_axis(fmt::format("k{}", d), shape.shape[d]));
      i[d] = axes.back();
    }
    return kind(value(i), axes);
  });
}

Tensor Rows::each_row(const std::string& name, const Tensor& of, const std::function<Expr(const Expr&)>& f) const {
  return compute(name, shape.per_row, axis_names(shape.shape.size()), {of},
                 [&](const std::vector<Expr>& i) { return f(of.at(i)); });
}

Tensor Rows::each(const std::string& name, const std::vector<Tensor>& reads,
                  const std::function<Expr(const std::vector<Expr>&)>& value) const {
  return compute(name, shape.shape, axis_names(shape.shape.size()), reads, value);
}

Expr Rows::of_row(const Tensor& t, std::vector<Expr> i) const {
  for (const size_t d : shape.axes) i[d] = make_int(0);
  return t.at(std::move(i));
}

Expr Rows::constant_at(size_t n, const std::vector<Expr>& i) const {
  if (!constants[n].node()) return nullptr;
  std::vector<Expr> at;
  for (const size_t d : shape.axes) at.push_back(i[d]);
  return cast(type, constants[n].at(std::move(at)));
}

Definition Rows::finish(const Workload& w, const std::string& name, const std::vector<Tensor>& of,
                        const std::function<Expr(const std::vector<Expr>&)>& value) {
  std::vector<Tensor> reads = of;
  for (const Tensor& t : constants)
    if (t.node()) reads.push_back(t);
  definition.outputs = {each(has_epilogue_stage(w, type) ? name : "out", reads, value)};
  add_epilogue(w, std::nullopt, axis_names(shape.shape.size()), &definition);
  return std::move(definition);
}

ChainSource rows_source() {
  return {[](const Attributes& a) { return a.get<std::vector<int64_t>>("shape"); }};
}

AttributeTexts infer_rows(std::span<const TensorType> inputs) {
  const TensorType& x = input_at(inputs, 0, "x");
  return {{"shape", text_of_extents(x.shape)}, {"dtype", to_string(x.dtype)}};
}

std::function<double(const Workload&)> rows_flops(double operations) {
  return
      [operations](const Workload& w) { return operations * static_cast<double>(element_count(rows_shape(w).shape)); };
}

}  // namespace hone
