// Division of integers that cannot trap, whatever the elements are.
#pragma once

#include "compiler/ir/expr.h"

namespace hone {

/// x / y; of integers rounded toward 0, x / 0 = 0, and the least number by -1 wraps around to itself.
Expr quotient(const Expr& x, const Expr& y);

/// The remainder of integers x / y, with x's sign; 0 for y = 0.
Expr truncated_remainder(const Expr& x, const Expr& y);
/// The same with y's sign.
Expr floored_remainder(const Expr& x, const Expr& y);

}  // namespace hone
