#include "compiler/ops/elementwise.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/attributes/split_text.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

// The shape of an input: `same`, or extents, each of which is the result's or 1.
std::vector<int64_t> parse_shape(std::string_view part, std::string_view name, std::string_view text,
                                 const std::vector<int64_t>& shape) {
  std::vector<int64_t> out = part == "same" ? shape : parse_extents(name, part);
  bool fits = out.size() == shape.size();
  for (size_t d = 0; fits && d < shape.size(); ++d) fits = out[d] == shape[d] || out[d] == 1;
  HONE_USER_CHECK(fits) << name << "=" << text << ": " << part << " does not fit shape=" << text_of_extents(shape)
                        << "; each extent is the shape's or 1";
  return out;
}

std::string text_of_shape(const std::vector<int64_t>& s, const std::vector<int64_t>& shape) {
  return s == shape ? "same" : text_of_extents(s);
}

Shapes parse_operands(std::string_view text, const std::vector<int64_t>& shape) {
  if (text == "none") return {};
  Shapes out;
  for (const std::string& part : split_text(text, ':')) out.push_back(parse_shape(part, "operands", text, shape));
  return out;
}

// Value: std::vector<int64_t>.
AttributeParser shape_of_x() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    std::vector<int64_t> x = parse_shape(text, context.name, text, shape);
    std::string canonical = text_of_shape(x, shape);
    return ParsedAttribute{std::move(canonical), std::move(x)};
  };
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
    const std::string canonical =
        absl::StrJoin(shapes, ":", [&](std::string* out, const auto& s) { *out += text_of_shape(s, shape); });
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
  ElementwiseShape s{a.get<Chain>("op"), {}, a.get<Extents>("shape"), a.get<Extents>("x"), a.get<Shapes>("operands")};
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
  std::vector<int64_t> shape = x.shape;
  std::string operands;
  for (const TensorType& t : inputs.subspan(1)) {
    HONE_USER_CHECK(t.shape.size() == shape.size())
        << "an input is " << to_string(t) << " and 'x' " << to_string(x) << "; all must be of one rank";
    for (size_t d = 0; d < shape.size(); ++d)
      if (shape[d] == 1) shape[d] = t.shape[d];
    operands += (operands.empty() ? "" : ":") + text_of_extents(t.shape);
  }
  return {{"shape", text_of_extents(shape)},
          {"operands", operands.empty() ? "none" : operands},
          {"dtype", to_string(x.dtype)},
          {"x", text_of_extents(x.shape)}};
}

}  // namespace

const ElementwiseShape& elementwise_shape(const Workload& w) { return w.shape_as<ElementwiseShape>(); }

std::string elementwise_text(const Chain& chain, DType in, const FunctionTable& functions) {
  return to_text(canonical(chain, in.is_narrow_float() ? f32 : in, in, functions), context_of(functions, "op"));
}

std::vector<std::string> axis_names(size_t count) {
  std::vector<std::string> names;
  for (size_t d = 0; d < count; ++d) names.push_back(fmt::format("i{}", d));
  return names;
}

Definition elementwise(const Workload& w) {
  const ElementwiseShape& s = elementwise_shape(w);
  Definition d;
  Tensor value = placeholder("x", s.x, dtypes_of(w).in);
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
        values.push_back(arguments[a].node() ? cast(type_of_argument(link, a, type), broadcast_at(arguments[a], i))
                                             : make_const(std::get<double>(link.arguments[a]), type));
      const Expr applied = apply(link, cast(type, broadcast_at(x, i)), values, s.types.after[l]);
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
                   {"dtype", "f32", element_dtype()},
                   {"x", "same", shape_of_x(), /*is_optional=*/true},
                   extremes_attribute()};
  op.shape = [functions](const Attributes& a) { return std::any(shape_of_elementwise(a, functions)); };
  op.infer = &infer_elementwise;
  op.define = &elementwise;
  op.flops = &elementwise_flops;
  return op;
}

}  // namespace hone
