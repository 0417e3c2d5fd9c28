// Reasons to refuse a definition that a user, or a file from anywhere, gives.
#pragma once

#include "compiler/ops/definition.h"

namespace hone {

/// UserError, one line, for a definition of no output, an output that is an input, tensors or loops that are too large,
/// a stage that reads a tensor which is none of its inputs, and a read that is not proved to lie in its tensor: the
/// index is data, or bounded by nothing.
void check_definition(const Definition& d);

}  // namespace hone
