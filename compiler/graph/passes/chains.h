// Chains of a graph's nodes, and how two become one. Private to the passes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ops/functions/chain.h"

namespace hone {

/// A chain and the values that its operands are, in order.
struct BoundChain {
  Chain chain;
  std::vector<ValueId> operands;
};

/// The chain of an elementwise node; its operands are all inputs but the first.
BoundChain bound_chain(const Node& n);
/// The same functions where `x`, which they begin with, is the operand of the first one and the other way round: x - y
/// is y.rsub(x). Nothing where that has no such function, or another operand is the first one's, too.
std::optional<BoundChain> exchanged_chain(BoundChain chain, ValueId x, const FunctionTable& functions);

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

/// Whether a link is an instruction or two for a vector: in a kernel that multiplies or reads memory it costs nothing.
bool is_cheap(const ChainLink& link);

/// Whether near values stay near in all of these links: none of them rounds, compares or makes whole numbers.
bool is_continuous(std::span<const ChainLink> links);

}  // namespace hone
