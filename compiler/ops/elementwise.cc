#include "compiler/ops/elementwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/split_text.h"

namespace hone {
namespace {

constexpr size_t kMaxFunctions = 16;

using Functions = std::vector<const ElementwiseFunction*>;
using Shapes = std::vector<std::vector<int64_t>>;

Functions parse_functions(std::string_view text) {
  Functions out;
  for (const std::string& name : split_text(text, '+')) {
    const auto& all = elementwise_functions();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const ElementwiseFunction& f) { return f.name == name; });
    if (found == all.end()) {
      std::string names;
      for (const ElementwiseFunction& f : all) names += fmt::format("{}{}", names.empty() ? "" : " ", f.name);
      throw UserError(fmt::format("op={}: '{}' is unknown; allowed, joined by +: {}", text, name, names));
    }
    out.push_back(&*found);
  }
  HONE_USER_CHECK(out.size() <= kMaxFunctions)
      << "op=" << text << " has " << out.size() << " functions; at most " << kMaxFunctions;
  return out;
}

Shapes parse_operands(std::string_view text, const std::vector<int64_t>& shape) {
  if (text == "none") return {};
  Shapes out;
  for (const std::string& part : split_text(text, ':')) {
    out.push_back(part == "same" ? shape : parse_extents("operands", part));
    bool fits = out.back().size() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = out.back()[d] == shape[d] || out.back()[d] == 1;
    HONE_USER_CHECK(fits) << "operands=" << text << ": " << part << " does not fit shape=" << text_of_extents(shape)
                          << "; each extent is the shape's or 1";
  }
  return out;
}

// Names of functions joined by +.
AttributeParser functions() {
  return [](std::string_view text, const AttributeContext&) {
    return ParsedAttribute{std::string(text), parse_functions(text)};
  };
}

// Shapes joined by colons, one for each function that takes an operand; `same` alone stands for all of them, however
// many.
AttributeParser operands() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto& functions = context.before.get<Functions>("op");
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    const auto wanted =
        static_cast<size_t>(std::count_if(functions.begin(), functions.end(), [](const auto* f) { return f->binary; }));
    Shapes shapes = parse_operands(text, shape);
    if (text == "same") shapes.assign(wanted, shape);
    HONE_USER_CHECK(shapes.size() == wanted) << "operands=" << text << " are " << shapes.size()
                                             << ", but op=" << context.before.text("op") << " takes " << wanted;
    std::string canonical;
    for (const auto& s : shapes)
      canonical += fmt::format("{}{}", canonical.empty() ? "" : ":", s == shape ? "same" : text_of_extents(s));
    return ParsedAttribute{canonical.empty() ? "none" : canonical, std::move(shapes)};
  };
}

// An operand's element for the output's element at `i`: where it has one element along an axis, that one.
Expr broadcast_at(const Tensor& t, std::vector<Expr> i) {
  for (size_t d = 0; d < i.size(); ++d)
    if (t->shape[d] == 1) i[d] = make_int(0);
  return t.at(std::move(i));
}

double elementwise_flops(const Workload& w) {
  const ElementwiseShape& s = elementwise_shape(w);
  double operations = 0;
  for (const ElementwiseFunction* f : s.functions) operations += f->operations;
  return operations * static_cast<double>(element_count(s.shape));
}

}  // namespace

const ElementwiseShape& elementwise_shape(const Workload& w) { return w.shape_as<ElementwiseShape>(); }

std::vector<std::string> axis_names(size_t count) {
  std::vector<std::string> names;
  for (size_t d = 0; d < count; ++d) names.push_back(fmt::format("i{}", d));
  return names;
}

Definition elementwise(const Workload& w) {
  const ElementwiseShape& s = elementwise_shape(w);
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

Operator elementwise_operator() {
  Operator op;
  op.name = "elementwise";
  op.summary =
      "functions of x joined by +, in order: op=mul+add+relu; each binary one takes an operand: "
      "operands=1x64x1x1:same";
  op.attributes = {{"op", "relu", functions()},
                   {"shape", "1x64x56x56", extents()},
                   {"operands", "same", operands()},
                   {"dtype", "f32", float_dtype()}};
  op.shape = [](const Attributes& a) {
    return std::any(
        ElementwiseShape{a.get<Functions>("op"), a.get<std::vector<int64_t>>("shape"), a.get<Shapes>("operands")});
  };
  op.define = &elementwise;
  op.flops = &elementwise_flops;
  return op;
}

}  // namespace hone
