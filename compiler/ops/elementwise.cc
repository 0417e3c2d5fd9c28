#include "compiler/ops/elementwise.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/split_text.h"

namespace hone {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

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

ChainContext context_of(const FunctionTable& functions, std::string_view name) {
  return {functions, name, {}, std::nullopt, false, /*writes_operands=*/false, /*most_uses=*/1024};
}

// A chain whose tensors are given by `operands`. Value: Chain.
AttributeParser chain_of(const FunctionTable& table) {
  return [table](std::string_view text, const AttributeContext& context) {
    const ChainContext read = context_of(table, context.name);
    Chain chain = parse_chain(text, read);
    HONE_USER_CHECK(!chain.empty()) << context.name << "=" << text << " has no function";
    return ParsedAttribute{to_text(chain, read), std::move(chain)};
  };
}

size_t operand_count(const Chain& chain) {
  size_t count = 0;
  for (const ChainLink& link : chain.links)
    count += static_cast<size_t>(std::count_if(link.arguments.begin(), link.arguments.end(),
                                               [](const Argument& a) { return std::holds_alternative<Operand>(a); }));
  return count;
}

// Shapes joined by colons, one for each tensor that the functions take; `same` alone stands for all of them, however
// many.
AttributeParser operands() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    const size_t wanted = operand_count(context.before.get<Chain>("op"));
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

// The operand's element that belongs to the output's element at `i`; broadcast along axes where the operand has one
// element.
Expr broadcast_at(const Tensor& t, std::vector<Expr> i) {
  for (size_t d = 0; d < i.size(); ++d)
    if (t->shape[d] == 1) i[d] = make_int(0);
  return t.at(std::move(i));
}

ElementwiseShape shape_of_elementwise(const Attributes& a, const FunctionTable& functions) {
  const DTypes& types = a.get<DTypes>("dtype");
  ElementwiseShape s{a.get<Chain>("op"), {}, a.get<std::vector<int64_t>>("shape"), a.get<Shapes>("operands")};
  // `op` was parsed before the type was known.
  const std::string text =
      to_text(canonical(s.chain, types.accumulate, types.out, functions), context_of(functions, "op"));
  HONE_USER_CHECK(text == a.text("op")) << "op=" << a.text("op") << " is written "
                                        << (text == "none" ? "as no operator at all: it changes nothing"
                                                           : "op=" + text);
  s.types = types_of(s.chain, types.accumulate, types.out, "op=" + a.text("op"));
  return s;
}

double elementwise_flops(const Workload& w) {
  const ElementwiseShape& s = elementwise_shape(w);
  return operations_of(s.chain) * static_cast<double>(element_count(s.shape));
}

AttributeTexts infer_elementwise(std::span<const TensorType> inputs) {
  const TensorType& x = input_at(inputs, 0, "x");
  std::string operands;
  for (const TensorType& t : inputs.subspan(1)) operands += (operands.empty() ? "" : ":") + text_of_extents(t.shape);
  return {{"shape", text_of_extents(x.shape)},
          {"operands", operands.empty() ? "none" : operands},
          {"dtype", to_string(x.dtype)}};
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
  Definition d;
  Tensor value = placeholder("x", s.shape, dtypes_of(w).in);
  d.inputs.emplace_back(value, ParamRole::kInput);
  std::vector<Tensor> labels;
  DType type = dtypes_of(w).accumulate;  // type of the value after each link
  size_t functions = 0, operands = 0;
  for (size_t l = 0; l < s.chain.links.size(); ++l) {
    const ChainLink& link = s.chain.links[l];
    if (!link.function) {
      labels.push_back(value);
      continue;
    }
    std::vector<Tensor> reads{value}, arguments;  // an argument that is a number is no tensor
    for (const Argument& a : link.arguments) {
      arguments.emplace_back();
      if (const Label* label = std::get_if<Label>(&a)) {
        arguments.back() = labels[label->index];
      } else if (std::holds_alternative<Operand>(a)) {
        arguments.back() =
            placeholder(fmt::format("y{}", operands + 1), s.operands[operands], s.types.operands[operands].dtype);
        ++operands;
        d.inputs.emplace_back(arguments.back(), ParamRole::kInput);
      } else {
        continue;
      }
      reads.push_back(arguments.back());
    }
    ++functions;
    const std::string name =
        l + 1 == s.chain.links.size() ? "out" : fmt::format("{}{}", link.function->name, functions);
    const Tensor x = value;
    value = compute(name, s.shape, axis_names(s.shape.size()), reads, [&](const std::vector<Expr>& i) {
      std::vector<Expr> values;
      for (size_t a = 0; a < arguments.size(); ++a)
        values.push_back(arguments[a].node() ? cast(type, broadcast_at(arguments[a], i))
                                             : make_const(std::get<double>(link.arguments[a]), type));
      const Expr applied = apply(link, cast(type, x.at(i)), values, s.types.after[l]);
      return name == "out" ? cast(s.types.result, applied) : applied;
    });
    type = s.types.after[l];
  }
  d.outputs = {value};
  return d;
}

Operator elementwise_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "elementwise";
  op.summary =
      "functions of x joined by +, in order: op=mul+add+relu; each binary one takes an operand: "
      "operands=1x64x1x1:same";
  op.attributes = {{"op", "relu", chain_of(functions)},
                   {"shape", "1x64x56x56", extents()},
                   {"operands", "same", operands()},
                   {"dtype", "f32", number_dtype()}};
  op.shape = [functions](const Attributes& a) { return std::any(shape_of_elementwise(a, functions)); };
  op.infer = &infer_elementwise;
  op.define = &elementwise;
  op.flops = &elementwise_flops;
  return op;
}

}  // namespace hone
