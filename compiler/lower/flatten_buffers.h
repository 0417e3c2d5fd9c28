// C[i, j] with shape (n, m)   ->   C[i*m + j] with shape (n*m)
#pragma once

#include "compiler/ir/module.h"

namespace hone {

/// Every access with one flat index, every buffer with one extent.
Function flatten_buffers(const Function& f);

}  // namespace hone
