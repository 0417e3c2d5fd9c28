/* Which variant of an artifact a call runs. Artifacts with several and libhone_runtime choose by the same rule. */
#ifndef HONE_VARIANTS_H
#define HONE_VARIANTS_H

#include "compiler/runtime/include/hone_runtime.h"

static inline int hone_internal_has_shape(const DLTensor* t, const HoneTensorType* type) {
  if (!t || t->ndim != type->ndim || (type->ndim > 0 && !t->shape)) return 0;
  for (int32_t d = 0; d < type->ndim; ++d)
    if (t->shape[d] != type->shape[d]) return 0;
  return 1;
}

/* How many of the variant's tensors, in order, have its shapes before the first that has not. */
static inline int32_t hone_internal_agreement(const HoneVariant* v, const DLTensor* const* args) {
  int32_t i = 0;
  while (i < v->param_count && hone_internal_has_shape(args[i], &v->params[i].plain)) ++i;
  return i;
}

/* The number of the first variant whose shapes are right and whose workers are not more than `workers`; else of the
   first whose shapes are right. Else of those that agree with most tensors, which says of the next one that it is
   wrong: the first, or where some agree the first for so many workers, since a cache that grows has a shape of no
   variant and is right for all. `args` has as many tensors as each variant takes. */
static inline int32_t hone_internal_pick_variant(const HoneVariant* variants, int32_t count,
                                                 const DLTensor* const* args, int32_t workers) {
  int32_t best = 0, most = -1;
  for (int32_t i = 0; i < count; ++i) {
    const int32_t agreement = hone_internal_agreement(&variants[i], args);
    const int fits = variants[i].workers <= workers;
    if (agreement == variants[i].param_count && fits) return i;
    if (agreement < most) continue;
    if (agreement == most && (agreement == 0 || !fits || variants[best].workers <= workers)) continue;
    most = agreement;
    best = i;
  }
  return best;
}

/* NAME_run, and NAME and NAME_plain, of an artifact that has several variants. The `run` of the chosen variant
   says what is wrong; without tensors to choose by it is the first one's. */
int32_t hone_internal_run_variant(const HoneArtifact* artifact, const DLTensor* const* args, int32_t n, void* workspace,
                                  const HoneRuntime* rt);
int32_t hone_internal_enter_variant(const HoneArtifact* artifact, const DLTensor* const* args, int32_t n,
                                    void* workspace, const HoneRuntime* rt);

#endif
