// Products of elements along axes, which the graph's operator reduce has not.
#pragma once

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// By halves: elements of the first times those of the second. Axes are from 0, ascending, and hold elements.
Operand product_over(Lowering& l, const Operand& x, const Extents& axes, bool keepdims);

}  // namespace hone::frontend
