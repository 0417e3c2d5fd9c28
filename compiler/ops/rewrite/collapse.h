// Fewer axes: neighbouring ones that every stage walks through together become one.
#pragma once

#include "compiler/ops/definition.h"

namespace hone {

/// out[n,c,h,w] = max(x[n,c,h,w] * s[c], 0), n = 1   ->   out[c,hw] = max(x[c,hw] * s[c], 0)
/// The program is the same: tensors keep names, elements and their order; a parameter keeps the shape that the caller
/// sees (caller_shape). Axes of one element are dropped; two neighbours become one where all accesses to them use both,
/// next to each other and in order. Works on any definition.
Definition collapse(const Definition& d);

}  // namespace hone
