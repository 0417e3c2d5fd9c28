// Definitions that operators of Hone's compute, as their nodes: passes fuse them with what stands around them, and they
// have these operators' templates.
#pragma once

#include <functional>
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

/// Whether as_nodes() has nodes for it, where the inputs that are known are these.
bool have_nodes(const Definition& d, const std::vector<bool>& is_known);

/// A kernel of its own of a part of a definition: its outputs.
using OwnKernel = std::function<std::vector<Operand>(const Definition& part, const std::vector<Operand>& inputs)>;

/// A definition with products that take most of its operations, of which other stages are no nodes of Hone's (the
/// softmax between two of them): the products as nodes, and kernels of their own of what is in front of, between and
/// behind them. Nothing where there are no such products.
std::optional<std::vector<Operand>> as_parts(Lowering& l, const Definition& d, const std::vector<Operand>& inputs,
                                             const OwnKernel& own);

}  // namespace hone::frontend
