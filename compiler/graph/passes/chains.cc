#include "compiler/graph/passes/chains.h"
#include "compiler/ops/rewrite/changed.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

bool is_operand(const Argument& a) { return std::holds_alternative<Operand>(a); }

bool has_chain(const Node& n, std::string_view attribute) {
  return n.workload.attributes.has(attribute) && n.workload.attributes.text(attribute) != "none";
}

}  // namespace

BoundChain bound_chain(const Node& n) {
  return {elementwise_shape(n.workload).chain, {n.inputs.begin() + 1, n.inputs.end()}};
}

std::optional<BoundChain> chain_on(const Node& n, ValueId v, const FunctionTable& functions) {
  BoundChain out = bound_chain(n);
  if (n.inputs[0] == v) return out;
  if (out.operands.empty() || out.operands[0] != v || std::count(n.inputs.begin(), n.inputs.end(), v) != 1)
    return std::nullopt;
  ChainLink& link = out.chain.links.front();
  if (link.arguments.size() != 1 || !is_operand(link.arguments[0])) return std::nullopt;
  const std::string_view other = exchanged(link.function->name);
  link.function = other.empty() ? nullptr : functions.find(other);
  out.operands[0] = n.inputs[0];
  return link.function ? std::optional(std::move(out)) : std::nullopt;
}

BoundChain joined(const BoundChain& first, const BoundChain& second, ValueId result, ValueId start) {
  BoundChain out;
  bool uses_start = false, uses_result = false;
  for (const ValueId v : second.operands) {
    uses_start = uses_start || (v == start && start != kNoValue);
    uses_result = uses_result || v == result;
  }
  // start, labels of the first, result, labels of the second
  const size_t shift = uses_start ? 1 : 0, result_label = shift + labels_of(first.chain.links),
               second_shift = result_label + (uses_result ? 1 : 0);
  if (uses_start) out.chain.links.emplace_back();
  const auto add = [&](const BoundChain& part, size_t labels, bool is_second) {
    auto operand = part.operands.begin();
    for (ChainLink link : part.chain.links) {
      for (Argument& a : link.arguments) {
        if (Label* label = std::get_if<Label>(&a)) label->index += labels;
        if (!std::holds_alternative<Operand>(a)) continue;
        const ValueId v = *operand++;
        if (is_second && v == result)
          a = Label{result_label};
        else if (is_second && v == start && start != kNoValue)
          a = Label{0};
        else
          out.operands.push_back(v);
      }
      out.chain.links.push_back(std::move(link));
    }
  };
  add(first, shift, false);
  if (uses_result) out.chain.links.emplace_back();
  add(second, second_shift, true);
  return out;
}

bool has_prologue(const Node& n) { return has_chain(n, "prologue"); }
bool has_epilogue(const Node& n) { return has_chain(n, "epilogue"); }

BoundChain bound_epilogue(const Node& n) {
  BoundChain out;
  if (!has_epilogue(n)) return out;
  out.chain = epilogue_of(n.workload).chain;
  out.operands.assign(n.inputs.end() - static_cast<std::ptrdiff_t>(operands_of(out.chain)), n.inputs.end());
  return out;
}

size_t operands_of(const Chain& chain) {
  std::ptrdiff_t count = 0;
  for (const ChainLink& link : chain.links)
    count += std::count_if(link.arguments.begin(), link.arguments.end(), &is_operand);
  return static_cast<size_t>(count);
}

size_t labels_of(std::span<const ChainLink> links) {
  return static_cast<size_t>(std::count_if(links.begin(), links.end(), [](const ChainLink& l) { return !l.function; }));
}

Chain chain_of(std::span<const BoundLink> links) {
  Chain out;
  for (const BoundLink& l : links) out.links.push_back(l.link);
  return out;
}

std::vector<BoundLink> bound_links(const Node& n) {
  const BoundChain chain = bound_epilogue(n);
  std::vector<BoundLink> out;
  auto operand = chain.operands.begin();
  for (const ChainLink& link : chain.chain.links) {
    out.push_back({link, {}});
    for (const Argument& a : link.arguments)
      if (is_operand(a)) out.back().operands.push_back(*operand++);
  }
  return out;
}

std::optional<Rewritten> with_links(const Node& n, const std::vector<BoundLink>& links,
                                    const std::vector<int64_t>& value, const FunctionTable& functions) {
  const auto old = static_cast<std::ptrdiff_t>(bound_epilogue(n).operands.size());
  Rewritten out{n.workload, {n.inputs.begin(), n.inputs.end() - old}};
  for (const BoundLink& l : links) out.inputs.insert(out.inputs.end(), l.operands.begin(), l.operands.end());
  try {
    out.workload = with_epilogue(n.workload, chain_of(links), value, functions);
  } catch (const UserError&) {
    return std::nullopt;
  }
  return out;
}

bool is(const ChainLink& link, std::string_view function) { return link.function && link.function->name == function; }

const double* number_of(const ChainLink& link) {
  const bool is_of_one = link.function && link.arguments.size() == 1 && !link.result;
  return is_of_one ? std::get_if<double>(&link.arguments[0]) : nullptr;
}

double in_f32(double number) { return std::stod(fmt::format("{}", static_cast<float>(number))); }

BoundLink link_with(const FunctionTable& functions, std::string_view function, double number) {
  return {{functions.find(function), {number}, std::nullopt}, {}};
}

BoundLink link_with(const FunctionTable& functions, std::string_view function, Operand::Kind kind, ValueId operand) {
  return {{functions.find(function), {Operand{kind, {}}}, std::nullopt}, {operand}};
}

bool is_cheap(const ChainLink& link) {
  static const std::set<std::string_view> kCheap = {"add",     "sub",     "rsub", "mul",        "max",
                                                    "min",     "maximum", "abs",  "neg",        "relu",
                                                    "minimum", "relu6",   "clip", "leaky_relu", "cast"};
  return !link.function || kCheap.contains(link.function->name);
}

bool is_cheap(const Chain& chain) {
  return std::all_of(chain.links.begin(), chain.links.end(), [](const ChainLink& link) { return is_cheap(link); });
}

bool stays(const ChainTypes& types, DType t) {
  return std::all_of(types.after.begin(), types.after.end(), [&](DType after) { return after == t; });
}

bool is_continuous(std::span<const ChainLink> links) {
  static const std::set<std::string_view> kContinuous = {
      "add",     "sub",     "rsub",    "mul",      "div",        "rdiv",       "max",   "min",
      "maximum", "minimum", "clip",    "relu",     "relu6",      "leaky_relu", "leaky", "prelu",
      "abs",     "neg",     "square",  "sqrt",     "rsqrt",      "reciprocal", "exp",   "log",
      "tanh",    "erf",     "sigmoid", "silu",     "gelu",       "gelu_tanh",  "mish",  "softplus",
      "elu",     "selu",    "celu",    "softsign", "hard_swish", "pow",        "rpow",  "hard_sigmoid",
      "sin",     "cos",     "atan",    "asinh",    "sinh",       "cosh"};
  return std::all_of(links.begin(), links.end(), [](const ChainLink& link) {
    if (link.result && !link.result->is_float()) return false;
    return !link.function || link.function->name == "cast" || kContinuous.contains(link.function->name);
  });
}

bool has_border(const Node& n) {
  if (!is<ops::Conv2d, ops::DepthwiseConv2d>(n)) return false;
  const ConvShape& s = conv_shape(n.workload);
  return s.pad_top + s.pad_left + s.pad_bottom + s.pad_right > 0;
}

bool has_folding_weights(const Graph& g, const Node& n) {
  if (!is<ops::Conv2d, ops::DepthwiseConv2d, ops::Dense>(n)) return false;
  const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
  const ChainTypes& types = epilogue_of(n.workload).types;
  return (t.in == f32 || t.in == f64) && t.weight == t.in && t.accumulate == t.in && t.out == t.in &&
         g.is_constant(n.inputs[1]) && !g.is_constant(n.inputs[0]) && types.result == t.in && stays(types, t.in) &&
         (!n.workload.attributes.has("layout") || layout_of(n.workload).in_block == 0);
}

}  // namespace hone
