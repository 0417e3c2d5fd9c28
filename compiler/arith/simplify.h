// The simplifier of index arithmetic and conditions.
#pragma once

#include "compiler/arith/bounds.h"
#include "compiler/ir/stmt.h"

namespace hone {

/// An equal expression, cheaper to compute: linear parts collected, floordiv and floormod by constants split
/// ((16*a + b) floordiv 16 -> a, floormod -> b when 0 <= b < 16), comparisons decided by `facts`, selects with a
/// decided condition resolved. Floats are left as they are but for their indices.
Expr simplify(const Expr& e, const Facts& facts);

/// The same for all of `s`, with the ranges of its loops and the conditions around each statement as facts; loops that
/// run once are replaced by their body, loops that never run and branches never taken are dropped.
Stmt simplify(const Stmt& s);

}  // namespace hone
