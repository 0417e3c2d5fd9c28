#include "compiler/runtime/zeroing_call.h"

// The text that artifacts in C bring.
#include "compiler/runtime/denormals/denormals.c"

namespace hone {

int32_t zeroing_call(HoneEntry entry, const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt) {
  return hone_internal_zeroing_call(entry, args, n, workspace, rt);
}

}  // namespace hone
