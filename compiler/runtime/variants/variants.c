#include "compiler/runtime/variants/variants.h"

static const HoneVariant* choose(const HoneArtifact* a, const DLTensor* const* args, int32_t n, const HoneRuntime* rt) {
  /* Nothing is known of a runtime of another version. */
  const int is_known = !rt || (rt->abi_version >= HONE_RUNTIME_ABI_OLDEST && rt->abi_version <= HONE_RUNTIME_ABI);
  if (!args || n != a->variants->param_count || !is_known) return a->variants;
  return &a->variants[hone_internal_pick_variant(a->variants, a->variant_count, args, rt ? rt->workers : 1)];
}

__attribute__((weak)) int32_t hone_internal_run_variant(const HoneArtifact* a, const DLTensor* const* args, int32_t n,
                                                        void* workspace, const HoneRuntime* rt) {
  return choose(a, args, n, rt)->run(args, n, workspace, rt);
}

__attribute__((weak)) int32_t hone_internal_enter_variant(const HoneArtifact* a, const DLTensor* const* args, int32_t n,
                                                          void* workspace, const HoneRuntime* rt) {
  return choose(a, args, n, rt)->entry(args, n, workspace, rt);
}
