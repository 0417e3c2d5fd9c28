// What the legalize passes ask of conditions.
#pragma once

#include <vector>

#include "compiler/arith/linear.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// The parts of a conjunction, from the left; a condition that is none is its own part.
std::vector<Expr> conjuncts(const Expr& condition);

/// True when `condition` reads no memory and cannot fault, so that it may be evaluated earlier or more often.
bool is_index_arithmetic(const Expr& condition);

/// A comparison of scalar indices as `form >= 0`. Nothing for any other condition.
std::optional<Linear> nonnegative_form(const Expr& condition);

}  // namespace hone
