// Chains of a graph's nodes, and how two become one. Private to the passes.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/ops/chain.h"

namespace hone {

/// A chain and the values that its operands are, in order.
struct BoundChain {
  Chain chain;
  std::vector<ValueId> operands;
};

/// `first`, then `second` on its result. Operands of `second` that are `result` (the value that `first` makes) or
/// `start` (the one that it begins with; kNoValue: none may be used) become labels.
BoundChain joined(const BoundChain& first, const BoundChain& second, ValueId result, ValueId start);

/// Names of the operators' functions with the operands exchanged: x - y is y.rsub(x). Empty where there is none.
std::string exchanged(const std::string& function);

}  // namespace hone
