// Vector expressions lane by lane, for proofs about them.
#pragma once

#include "compiler/ir/expr.h"

namespace hone {

/// The value of lane number `lane` (a scalar index) of `e`; `e` itself when it is a scalar. A part that is no index
/// arithmetic becomes a new variable: nothing is known of it, and it equals nothing else.
Expr lane_of(const Expr& e, const Expr& lane);

}  // namespace hone
