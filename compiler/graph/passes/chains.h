// Chains of a graph's nodes, and how two become one. Private to the passes.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ops/functions/chain.h"

namespace hone {

/// A chain and the values that its operands are, in order.
struct BoundChain {
  Chain chain;
  std::vector<ValueId> operands;

  /// Puts `of(value, operand)`, for each operand, in its place; false where that gives nothing for one.
  template <class Of>
  bool change_operands(const Of& of) {
    auto value = operands.begin();
    for (ChainLink& link : chain.links)
      for (Argument& a : link.arguments) {
        const Operand* const operand = std::get_if<Operand>(&a);
        std::optional<Argument> other = operand ? of(*value++, *operand) : std::optional(a);
        if (!other) return false;
        a = *std::move(other);
      }
    return true;
  }
};

/// Calls `f` with each label that arguments of these links (of a constant chain, too) name.
template <class Links, class F>
void each_label(Links&& links, const F& f) {
  for (auto& link : links)
    for (auto& a : link.arguments)
      if (auto* label = std::get_if<Label>(&a)) f(*label);
}

/// The chain of an elementwise node; its operands are all inputs but the first.
BoundChain bound_chain(const Node& n);
/// A node's epilogue, whose operands are its last inputs; empty where it has none.
BoundChain bound_epilogue(const Node& n);
/// Whether a node has functions in front of its first input, and behind its own result.
bool has_prologue(const Node& n);
bool has_epilogue(const Node& n);
/// The chain of an elementwise node, as functions of its input `v`, which is the first one or the operand of the first
/// function: x - y is y.rsub(x). Nothing for others, where that has no such function, or `v` is read again.
std::optional<BoundChain> chain_on(const Node& n, ValueId v, const FunctionTable& functions);

/// `first`, then `second` on its result. Operands of `second` that are `result` (the value that `first` makes) or
/// `start` (the one that it begins with; kNoValue: none may be used) become labels.
BoundChain joined(const BoundChain& first, const BoundChain& second, ValueId result, ValueId start);

/// A link of a node's epilogue, and the values that its operands are.
struct BoundLink {
  ChainLink link;
  std::vector<ValueId> operands;
  /// The first of them; kNoValue: it has none.
  ValueId operand() const { return operands.empty() ? kNoValue : operands[0]; }
};
/// The links alone.
Chain chain_of(std::span<const BoundLink> links);
/// The links of a node's epilogue; their operands are the node's last inputs.
std::vector<BoundLink> bound_links(const Node& n);
/// A node's workload and inputs with this epilogue in place of its own, whose shape is `value`. Nothing where the
/// operator does not take it: it is too long.
struct Rewritten {
  Workload workload;
  std::vector<ValueId> inputs;
};
std::optional<Rewritten> with_links(const Node& n, const std::vector<BoundLink>& links,
                                    const std::vector<int64_t>& value, const FunctionTable& functions);

/// Whether a node is a convolution or a dense product with weights that are known (input 1, output channels first), and
/// computes in f32 or f64 throughout: another number in them, or for one in its epilogue, is rounded like theirs. Not
/// in blocks of channels.
bool has_folding_weights(const Graph& g, const Node& n);

/// How many operands these functions have.
size_t operands_of(const Chain& chain);
/// How many of these links are labels.
size_t labels_of(std::span<const ChainLink> links);
/// Whether it applies this function.
bool is(const ChainLink& link, std::string_view function);
/// The number in a function of one alone, which converts nothing; else null.
const double* number_of(const ChainLink& link);
/// A number as f32 holds it, with the digits of that.
double in_f32(double number);
/// `function` with a number, and with an operand.
BoundLink link_with(const FunctionTable& functions, std::string_view function, double number);
BoundLink link_with(const FunctionTable& functions, std::string_view function, Operand::Kind kind, ValueId operand);

/// Whether a node is a convolution with zeros around its image.
bool has_border(const Node& n);

/// Whether a link is an instruction or two for a vector: in a kernel that multiplies or reads memory it costs nothing.
bool is_cheap(const ChainLink& link);
/// Whether all of these are.
bool is_cheap(const Chain& chain);
/// Whether the chain's values are of this type behind each of its links.
bool stays(const ChainTypes& types, DType t);

/// Whether near values stay near in all of these links: none of them rounds, compares or makes whole numbers.
bool is_continuous(std::span<const ChainLink> links);

}  // namespace hone
