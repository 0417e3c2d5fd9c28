#include "compiler/runtime/entry/entry.h"

/* A region of one call. */
typedef struct HoneRegionCall {
  const HoneRegion* region;
  const DLTensor* const* args;
  void* workspace;
  const void* weights;
} HoneRegionCall;

static int32_t hone_region_chunk(int64_t begin, int64_t end, int32_t worker, void* closure) {
  const HoneRegionCall* const call = (const HoneRegionCall*)closure;
  int32_t code = HONE_OK;
  (void)worker;
  for (int64_t thread = begin; thread < end && !code; ++thread) {
    const HoneThreadSteps steps = call->region->threads[thread];
    if (steps) code = steps(call->args, call->workspace, call->weights);
  }
  return code;
}

__attribute__((weak)) int32_t hone_entry1_region(const HoneRegion* region, const DLTensor* const* args, void* workspace,
                                                 const void* weights, const HoneRuntime* rt) {
  HoneRegionCall call;
  call.region = region;
  call.args = args;
  call.workspace = workspace;
  call.weights = weights;
  if (!rt) return hone_region_chunk(0, region->count, 0, &call);
  return rt->parallel_for(rt->self, hone_region_chunk, &call, region->count, region->count, 0);
}

__attribute__((weak)) int32_t hone_entry1_share_for(void* self, HoneChunk body, void* closure, int64_t iterations,
                                                    int32_t max_workers, int64_t grain) {
  const HoneShare* const share = (const HoneShare*)self;
  int32_t code = HONE_OK;
  (void)iterations, (void)max_workers, (void)grain;
  for (int64_t i = 0; i < share->count && !code; ++i)
    code = body(share->ranges[i][0], share->ranges[i][1], (int32_t)share->thread, closure);
  return code;
}
