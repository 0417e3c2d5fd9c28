// Elementwise operators and reductions: their attributes read, and the closed table of functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/expr.h"
#include "compiler/ops/workload.h"

namespace hone {

/// One function of `elementwise(op=…)`.
struct ElementwiseFunction {
  std::string_view name;
  bool binary;     ///< takes one more operand
  int operations;  ///< for flops(): exp, log, tanh, erf, sqrt and a division count one each
  Expr (*apply)(const Expr& x, const Expr& y);  ///< `y` null for unary ones
};
const std::vector<ElementwiseFunction>& elementwise_functions();

/// `op=mul+add+relu,shape=1x64x56x56,operands=1x64x1x1:same`, read: relu(x * operand 0 + operand 1).
struct ElementwiseShape {
  std::vector<const ElementwiseFunction*> functions;  ///< applied in this order
  std::vector<int64_t> shape;
  std::vector<std::vector<int64_t>> operands;  ///< one for each binary function; an extent is the shape's or 1
};
ElementwiseShape elementwise_shape(const Workload& w);

/// `op=mean,shape=1x64x56x56,axes=2:3,keepdims=0`, read.
struct ReduceShape {
  std::string op;  ///< sum, mean, max, min
  std::vector<int64_t> shape;
  std::vector<int64_t> axes;  ///< ascending, each once
  std::vector<int64_t> out;   ///< shape of the output; {1} when nothing is left
  int64_t length = 1;         ///< elements reduced into one
};
ReduceShape reduce_shape(const Workload& w);

/// Puts the attributes of an elementwise or reduce workload, as given, into canonical form: operands and axes in terms
/// of the shape. UserError, one line: an unknown function, a shape that is none or has more than 8 axes, operands that
/// do not fit the functions or the shape, axes that are not the shape's.
void canonicalise_elementwise(Workload* w);
void canonicalise_reduce(Workload* w);

}  // namespace hone
