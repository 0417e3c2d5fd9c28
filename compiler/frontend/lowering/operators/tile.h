// A tensor repeated along its axes.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// `x` repeated `repeats[d]` times along each axis d; 0 gives no elements. UserError, one line, unless there is one
/// number for each axis and none is negative.
Operand tile(Lowering& l, const Operand& x, const std::vector<int64_t>& repeats);

}  // namespace hone::frontend
