// x to the power of y, of floats.
#pragma once

#include "compiler/ir/expr.h"

namespace hone {

/// C's pow: of a negative x where y is whole, 1 where y is 0 or x is 1, and so on; but the zero -0 counts as 0. Where y
/// is a number: products for whole y from -8 to 8, roots for 0.5 and -0.5. Else e^(y log|x|), whose relative error is
/// that of y log|x|: some 2 |y log x| u, so 2^-17 for results near the ends of f32.
Expr power(const Expr& x, const Expr& y);

}  // namespace hone
