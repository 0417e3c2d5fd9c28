#include "compiler/api/gpu/check_variant.h"

#include "compiler/runtime/launcher/caches.h"
#include "compiler/runtime/variants/variants.h"

static int has_row_major_strides(const DLTensor* t) {
  int64_t stride = 1;
  for (int32_t d = t->ndim; t->strides && d-- > 0;) {
    /* The stride of a dimension of one element says nothing. */
    if (t->shape[d] != 1 && t->strides[d] != stride) return 0;
    stride *= t->shape[d];
  }
  return 1;
}

static int32_t wrong_with(const HoneTensorType* wanted, const DLTensor* t) {
  if (!t || !t->data) return HONE_WRONG_DATA;
  if (t->dtype.code != wanted->dtype.code || t->dtype.bits != wanted->dtype.bits ||
      t->dtype.lanes != wanted->dtype.lanes)
    return HONE_WRONG_DTYPE;
  if (!hone_internal_has_shape(t, wanted)) return HONE_WRONG_SHAPE;
  if (!has_row_major_strides(t)) return HONE_WRONG_STRIDES;
  const int64_t bytes = wanted->dtype.bits / 8;
  const int is_on_cpu = t->device.device_type == kDLCPU;
  return is_on_cpu && bytes > 1 && ((uintptr_t)t->data + t->byte_offset) % (uintptr_t)bytes ? HONE_WRONG_ALIGNMENT : 0;
}

int32_t hone_internal_check_variant(const HoneVariant* variant, const DLTensor* const* args) {
  const HoneGpuModel* const model = hone_internal_model_of(variant->gpu);
  for (int32_t i = 0; i < variant->param_count; ++i) {
    if (model && hone_internal_cache_of(model, i)) continue;
    const int32_t what = wrong_with(&variant->params[i].plain, args[i]);
    if (what) return HONE_BAD_ARGUMENTS | what << 8 | (i + 1) << 16;
  }
  return HONE_OK;
}
