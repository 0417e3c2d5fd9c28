// A call to whose arithmetic denormal numbers are zeros, of an entry that leaves the mode as it is.
#pragma once

#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

/// What `entry` returns for these arguments. Meanwhile denormals are zeros on the calling thread, and on every thread
/// of `rt` (null: none) while that runs a chunk; then each has its own mode again.
int32_t zeroing_call(HoneEntry entry, const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);

}  // namespace hone
