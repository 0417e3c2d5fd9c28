// The table of scalar functions: what elementwise operators apply.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ir/expr.h"

namespace hone {

/// One function of `elementwise(op=…)`.
struct ElementwiseFunction {
  std::string_view name;
  bool binary;     ///< takes one more operand
  int operations;  ///< for flops(): exp, log, tanh, erf, sqrt and a division count one each
  Expr (*apply)(const Expr& x, const Expr& y);  ///< `y` null for unary ones
};
const std::vector<ElementwiseFunction>& elementwise_functions();

}  // namespace hone
