// Where in their windows the largest elements are.
#pragma once

#include "compiler/frontend/lowering/window.h"

namespace hone::frontend {

/// The coordinate along axis `d` of element `at` of a tensor of this shape, in row-major order.
int64_t coordinate_of(const Extents& shape, int64_t at, size_t d);

/// The tap (its number in row-major order, s64) of the largest element in each window over images x [n, c, ..], the
/// first of several; a border is none. `shape`: [n, c, ..] behind the windows. UserError where they are larger than
/// 256 elements.
Operand largest_taps(Lowering& l, const Operand& x, const Window& w, const Extents& shape);

}  // namespace hone::frontend
