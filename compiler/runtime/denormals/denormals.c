/* Calls of artifacts in C to which denormal numbers are zeros (codegen/llvm/zero_denormals.h emits the same for
   others). */
#include "compiler/runtime/denormals/denormals.h"

/* The caller's runtime, whose threads have that mode while they run a chunk. */
typedef struct HoneZeroing {
  HoneRuntime runtime;
  const HoneRuntime* given;
} HoneZeroing;

typedef struct HoneZeroingChunk {
  HoneChunk body;
  void* closure;
} HoneZeroingChunk;

static int32_t hone_internal_zeroing_chunk(int64_t begin, int64_t end, int32_t worker, void* closure) {
  const HoneZeroingChunk* const chunk = (const HoneZeroingChunk*)closure;
  const uint64_t before = hone_internal_zero_denormals();
  const int32_t code = chunk->body(begin, end, worker, chunk->closure);
  hone_internal_set_float_mode(before);
  return code;
}

static int32_t hone_internal_zeroing_for(void* self, HoneChunk body, void* closure, int64_t iterations,
                                         int32_t max_workers, int64_t grain) {
  const HoneRuntime* const given = ((const HoneZeroing*)self)->given;
  HoneZeroingChunk chunk = {body, closure};
  return given->parallel_for(given->self, hone_internal_zeroing_chunk, &chunk, iterations, max_workers, grain);
}

/* Calls `entry`. */
static inline int32_t hone_internal_zeroing_call(HoneEntry entry, const DLTensor* const* args, int32_t n,
                                                 void* workspace, const HoneRuntime* rt) {
  HoneEntry volatile inside = entry; /* not to be inlined: arithmetic could move across the changes of the mode */
  /* Without the caller's `gpu`, before which a runtime of version 2 ends. */
  HoneZeroing zeroing = {{rt ? rt->abi_version : 0, rt ? rt->workers : 0, 0, hone_internal_zeroing_for, 0}, rt};
  uint64_t before;
  int32_t code;
  zeroing.runtime.self = &zeroing;
  before = hone_internal_zero_denormals();
  code = inside(args, n, workspace, rt ? &zeroing.runtime : 0);
  hone_internal_set_float_mode(before);
  return code;
}
