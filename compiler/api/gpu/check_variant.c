#include "compiler/api/gpu/check_variant.h"

#include "compiler/runtime/entry/entry.h"
#include "compiler/runtime/launcher/caches.h"

int32_t hone_internal_check_variant(const HoneVariant* variant, const DLTensor* const* args) {
  const HoneGpuModel* const model = hone_internal_model_of(variant->gpu);
  /* The launcher says which devices it takes. */
  const HoneTensorCheck check = {.devices = UINT64_MAX, .begins_with = -1};
  for (int32_t i = 0; i < variant->param_count; ++i) {
    if (model && hone_internal_cache_of(model, i)) continue;
    const int32_t what = hone_entry1_check_tensor(args, i, &variant->params[i].plain, &check, NULL, NULL);
    if (what) return HONE_BAD_ARGUMENTS | what << 8 | (i + 1) << 16;
  }
  return HONE_OK;
}
