// Chains of a graph's nodes, and how two become one. Private to the passes.
#pragma once

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ops/functions/chain.h"

namespace hone {

/// A chain and the values that its operands are, in order.
struct BoundChain {
  Chain chain;
  std::vector<ValueId> operands;
};

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
/// Of a node with an epilogue, whose operands are its last inputs.
std::vector<BoundLink> bound_links(const Node& n);
/// Gives a node this epilogue. False, and nothing changed, where its operator does not take it: it is too long.
bool set_epilogue(const Graph& g, const FunctionTable& functions, const std::vector<BoundLink>& links, Node* n);

/// Whether a node is a convolution or a dense product with weights that are known (input 1, output channels first), and
/// computes in f32 or f64 throughout: another number in them, or for one in its epilogue, is rounded like theirs. Not
/// in blocks of channels.
bool has_folding_weights(const Graph& g, const Node& n);

/// Whether a link is an instruction or two for a vector: in a kernel that multiplies or reads memory it costs nothing.
bool is_cheap(const ChainLink& link);

/// Whether near values stay near in all of these links: none of them rounds, compares or makes whole numbers.
bool is_continuous(std::span<const ChainLink> links);

/// Adds constants to a graph, under names that are not taken: the name of what they come from, `suffix` and a number.
class NewConstants {
 public:
  NewConstants(Graph* g, std::string suffix);
  ValueId add(ValueId from, TensorData data);

 private:
  Graph* const g_;
  const std::string suffix_;
  std::unordered_set<std::string> names_;
  int number_ = 0;
};

}  // namespace hone
