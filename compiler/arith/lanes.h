// Vector expressions lane by lane, for proofs about them.
#pragma once

#include "compiler/ir/expr.h"

namespace hone {

/// What lane number `lane` (a scalar index) of `e` computes; `e` itself when it is a scalar. What is no index
/// arithmetic becomes a variable of its own, which nothing is known of and which equals nothing else.
Expr lane_of(const Expr& e, const Expr& lane);

}  // namespace hone
