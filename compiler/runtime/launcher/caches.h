/* Caches of a model that grow in place: checks of a call's caches, and copies of those on the CPU. */
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

/* Copies the first `rows` rows of a cache on the CPU to the device. */
int32_t hone_internal_write_rows(const HoneDriver* driver, const HoneGpuCache* cache, const DLTensor* output,
                                 int64_t rows, HoneMemory to, void* stream, HoneWords* words);
/* Copies row number `row` to the cache on the CPU. */
int32_t hone_internal_read_row(const HoneDriver* driver, const HoneGpuCache* cache, HoneMemory from, int64_t row,
                               const DLTensor* output, void* stream, HoneWords* words);

#ifdef __cplusplus
}
#endif

#endif
