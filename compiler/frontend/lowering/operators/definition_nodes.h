// Definitions that operators of Hone's compute, as their nodes: passes fuse them with what stands around them, and they
// have these operators' templates.
#pragma once

#include <optional>
#include <vector>

#include "compiler/frontend/lowering/lowering.h"
#include "compiler/ops/definition.h"

namespace hone::frontend {

/// The outputs of a definition each of whose stages is a function of elements (at its own position, or one that is
/// broadcast to it), a product of matrices, a convolution with weights that are known, or a border of zeros around the
/// image of one. Nothing where a stage is something else, or long: then it is a kernel of its own. `inputs`: those of
/// the definition, in order.
std::optional<std::vector<Operand>> as_nodes(Lowering& l, const Definition& d, const std::vector<Operand>& inputs);

}  // namespace hone::frontend
