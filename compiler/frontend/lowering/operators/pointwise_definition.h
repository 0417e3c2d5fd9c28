// Definitions that are functions of elements, as the nodes that Hone has for these: passes fuse them with what stands
// around them.
#pragma once

#include <optional>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"
#include "compiler/ops/definition.h"

namespace hone::frontend {

/// The outputs of a definition without reductions, each element of which is made of the elements at its own position
/// (or at one that is broadcast to it): by nodes of elementwise, functions of the table where the expressions are
/// theirs. Nothing where it is another definition, or a long one. `inputs`: those of the definition, in order.
std::optional<std::vector<Operand>> as_elementwise(Lowering& l, const Definition& d, const std::vector<Operand>& inputs);

}  // namespace hone::frontend
