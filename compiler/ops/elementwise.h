// elementwise: functions of one tensor, applied in order, with broadcasting.
#pragma once

#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/ops/functions/chain.h"

namespace hone {

/// `op=mul+add+relu,shape=1x64x56x56,operands=1x64x1x1:same`, read: relu(x * operand 0 + operand 1).
struct ElementwiseShape {
  Chain chain;
  ChainTypes types;
  std::vector<int64_t> shape;
  std::vector<int64_t> x;                      ///< of the first input
  std::vector<std::vector<int64_t>> operands;  ///< of the tensors that the chain takes; an extent is the shape's or 1
};
const ElementwiseShape& elementwise_shape(const Workload& w);

/// elementwise: x (input), then one operand (input) `y1`, `y2`, … for each tensor that the functions take.
/// One stage a function, the last called `out`.
Definition elementwise(const Workload& w);

/// The text of the `op` attribute for this chain on an x of type `in`; `none` where it does nothing.
std::string elementwise_text(const Chain& chain, DType in, const FunctionTable& functions);

/// `i0`, `i1`, …: names of axes that have none.
std::vector<std::string> axis_names(size_t count);

}  // namespace hone
