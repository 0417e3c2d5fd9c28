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

size_t labels_of(const Chain& chain) {
  size_t n = 0;
  for (const ChainLink& link : chain.links) n += link.function ? 0 : 1;
  return n;
}

}  // namespace

BoundChain bound_chain(const Node& n) {
  return {elementwise_shape(n.workload).chain, {n.inputs.begin() + 1, n.inputs.end()}};
}

std::optional<BoundChain> exchanged_chain(BoundChain chain, ValueId x, const FunctionTable& functions) {
  if (chain.operands.empty()) return std::nullopt;
  const ValueId first = chain.operands[0];
  ChainLink& link = chain.chain.links.front();
  if (!link.function || link.arguments.size() != 1 || !std::holds_alternative<Operand>(link.arguments[0]) ||
      x == first || std::count(chain.operands.begin(), chain.operands.end(), first) != 1)
    return std::nullopt;
  const std::string_view other = exchanged(link.function->name);
  link.function = other.empty() ? nullptr : functions.find(other);
  if (!link.function) return std::nullopt;
  chain.operands[0] = x;
  return chain;
}

BoundChain joined(const BoundChain& first, const BoundChain& second, ValueId result, ValueId start) {
  BoundChain out;
  bool uses_start = false, uses_result = false;
  for (const ValueId v : second.operands) {
    uses_start = uses_start || (v == start && start != kNoValue);
    uses_result = uses_result || v == result;
  }
  // start, labels of the first, result, labels of the second
  const size_t shift = uses_start ? 1 : 0, result_label = shift + labels_of(first.chain),
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

std::vector<BoundLink> bound_links(const Node& n) {
  std::vector<BoundLink> out;
  size_t operands = 0;
  for (const ChainLink& link : epilogue_of(n.workload).chain.links) {
    out.push_back({link, {}});
    for (const Argument& a : link.arguments) operands += std::holds_alternative<Operand>(a) ? 1 : 0;
  }
  size_t next = n.inputs.size() - operands;
  for (BoundLink& l : out)
    for (const Argument& a : l.link.arguments)
      if (std::holds_alternative<Operand>(a)) l.operands.push_back(n.inputs[next++]);
  return out;
}

std::optional<Rewritten> with_links(const Node& n, const std::vector<BoundLink>& links,
                                    const std::vector<int64_t>& value, const FunctionTable& functions) {
  size_t old = 0;
  for (const BoundLink& l : bound_links(n)) old += l.operands.size();
  Rewritten out{n.workload, {n.inputs.begin(), n.inputs.end() - static_cast<std::ptrdiff_t>(old)}};
  Chain chain;
  for (const BoundLink& l : links) {
    chain.links.push_back(l.link);
    out.inputs.insert(out.inputs.end(), l.operands.begin(), l.operands.end());
  }
  try {
    out.workload = with_epilogue(n.workload, chain, value, functions);
  } catch (const UserError&) {
    return std::nullopt;
  }
  return out;
}

bool is_cheap(const ChainLink& link) {
  static const std::set<std::string_view> kCheap = {"add",     "sub",     "rsub", "mul",        "max",
                                                    "min",     "maximum", "abs",  "neg",        "relu",
                                                    "minimum", "relu6",   "clip", "leaky_relu", "cast"};
  return !link.function || kCheap.contains(link.function->name);
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

bool has_folding_weights(const Graph& g, const Node& n) {
  if (!is<ops::Conv2d, ops::DepthwiseConv2d, ops::Dense>(n)) return false;
  const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
  const std::vector<DType>& after = epilogue_of(n.workload).types.after;
  return (t.in == f32 || t.in == f64) && t.weight == t.in && t.accumulate == t.in && t.out == t.in &&
         g.is_constant(n.inputs[1]) && !g.is_constant(n.inputs[0]) && epilogue_of(n.workload).types.result == t.in &&
         std::all_of(after.begin(), after.end(), [&](DType type) { return type == t.in; }) &&
         (!n.workload.attributes.has("layout") || layout_of(n.workload).in_block == 0);
}

}  // namespace hone
