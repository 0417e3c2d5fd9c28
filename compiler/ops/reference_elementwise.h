// The reference of elementwise definitions: each stage's value in f64, and how far rounding may carry a candidate's
// from it. Private to ops.
#pragma once

#include <vector>

#include "compiler/ir/stmt.h"
#include "compiler/ops/definition.h"

namespace hone {

/// Statements that compute the output element at `coordinate` and store it to value[at], and to magnitude[at] the sum
/// of the rounding errors that a kernel in the definition's type may make, in units of its u (2^-24 for f32), to first
/// order: each stage's own, and those of its operands as it passes them on (multiplied by the other factor, by the
/// derivative of a function, …). `flat` gives each placeholder's flat parameter. Every stage reads the others at its
/// own element.
Stmt elementwise_reference(const Definition& d, const std::vector<std::pair<Buffer, Buffer>>& flat,
                           const std::vector<Expr>& coordinate, const Buffer& value, const Buffer& magnitude,
                           const Expr& at);

}  // namespace hone
