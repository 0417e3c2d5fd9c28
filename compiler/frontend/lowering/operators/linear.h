// Products of rows with weights that lie as layers have them.
#pragma once

#include <optional>

#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {

/// x w^T + bias: x [m, k], w [n, k], bias [n] or none; one product where they are known.
Operand linear(Lowering& l, const Operand& x, const Operand& w, const std::optional<Operand>& bias);

}  // namespace hone::frontend
