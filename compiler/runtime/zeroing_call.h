// A call to whose arithmetic denormal numbers are zeros, of an entry that leaves the mode as it is.
#pragma once

#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

/// Calls `entry` and returns its code. Denormals are zeros meanwhile, on the calling thread and on every thread of `rt`
/// (null: none) while it runs a chunk; then each thread has its own mode again.
int32_t zeroing_call(HoneEntry entry, const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);

}  // namespace hone
