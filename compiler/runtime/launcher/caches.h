/* Caches of a model that grow in place: what they are, and checks of a call's. */
#ifndef HONE_LAUNCHER_CACHES_H
#define HONE_LAUNCHER_CACHES_H

#include "compiler/runtime/launcher/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The model whose head it is; null: it is that of a program. */
const HoneGpuModel* hone_internal_model_of(const HoneGpuProgram* head);
/* Whether the model is of a version that has more than its steps. */
int hone_internal_has_newest(const HoneGpuModel* model);
/* How many caches the model has; 0 where its version knows nothing of them. */
int64_t hone_internal_cache_count(const HoneGpuModel* model);
/* The cache that tensor number `i` of a call is a part of; null: it is of none. */
const HoneGpuCache* hone_internal_cache_of(const HoneGpuModel* model, int64_t i);
/* Bytes of the cache with all rows that it has room for. */
int64_t hone_internal_cache_bytes(const HoneGpuCache* cache);

/* How many rows a call says are there. `cpu_too`: caches may lie on the CPU. HONE_BAD_ARGUMENTS, in one line, where the
   caches do not say the same number or no number that there is room for, where input and output lie apart, and where
   they lie otherwise than a buffer of all rows. */
int32_t hone_internal_rows_of(const HoneDriver* driver, const HoneGpuModel* model, const DLTensor* const* args,
                              int cpu_too, int64_t* rows, HoneWords* words);

#ifdef __cplusplus
}
#endif

#endif
