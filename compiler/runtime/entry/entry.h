/* The half of an artifact that leads a call: checks, errors, parallel regions, rows of caches, the way to a GPU. C99
   over constant tables, which both code generators write; only a model's steps are code that they emit.

   Compiled when Hone is built and linked to artifacts as objects, and text in artifacts in C. The names are hidden and
   weak: several artifacts' objects in one program are no clash, the first's are taken. So that this holds for artifacts
   of several versions, too, the names have a number: who changes what a table or a function means gives them the next.
 */
#ifndef HONE_ENTRY_H
#define HONE_ENTRY_H

#include "compiler/runtime/include/hone_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_ENTRY_LOCAL __attribute__((visibility("hidden")))

/* --- check.c --- */

/* NAME_run of a variant. */
typedef struct HoneRun {
  const HoneVariant* variant;
  const HoneChecks* checks;
  HoneEntry plain;          /* called with what was checked */
  const HoneLayers* layers; /* that HONE_ASK_LAYERS asks for; null: they are not told apart */
} HoneRun;

/* Checks the arguments in the order of hone_runtime.h's codes, each tensor after the one before, and calls `plain`. */
HONE_ENTRY_LOCAL int32_t hone_entry1_run(const HoneRun* run, const DLTensor* const* args, int32_t n, void* workspace,
                                         const HoneRuntime* rt);

/* The fault of tensor number `i` by hone_runtime.h's rules: HONE_WRONG_DATA and so on; 0: none. `values`: those of the
   symbols, HONE_UNKNOWN_VALUE until a tensor says one, which this sets. The tensors
   before it are right. */
HONE_ENTRY_LOCAL int32_t hone_entry1_check_tensor(const DLTensor* const* args, int32_t i, const HoneTensorType* type,
                                                  const HoneTensorCheck* check, const HoneSymbol* symbols,
                                                  int64_t* values);
#define HONE_UNKNOWN_VALUE INT64_MIN

/* --- errors.c --- */

/* The sentences of NAME_error. */
typedef struct HoneErrors {
  const char* const* codes; /* of codes without more, from HONE_OK on */
  /* For HONE_BAD_ARGUMENTS: HONE_TENSOR_WRONGS without a tensor, as many for each tensor in turn, then `more` of other
     kinds, which never name a tensor. */
  const char* const* wrongs;
  int32_t code_count, tensor_count, more;
} HoneErrors;
#define HONE_TENSOR_WRONGS 10

/* Never null. */
HONE_ENTRY_LOCAL const char* hone_entry1_error(const HoneErrors* errors, int32_t code);

/* --- regions.c --- */

/* The steps of one thread of a region, in order; HONE_OK, or the code of the one that failed. */
typedef int32_t (*HoneThreadSteps)(const DLTensor* const* args, void* workspace, const void* weights);

typedef struct HoneRegion {
  const HoneThreadSteps* threads; /* null for one that has nothing to do */
  int32_t count;
} HoneRegion;

/* One parallel region of `rt` whose iterations are the threads; without a runtime they run one after the other. */
HONE_ENTRY_LOCAL int32_t hone_entry1_region(const HoneRegion* region, const DLTensor* const* args, void* workspace,
                                            const void* weights, const HoneRuntime* rt);

/* Which iterations of a layer's only parallel loop a thread runs: `self` of a HoneRuntime whose parallel_for is
   hone_entry1_share_for, which runs these and leaves out all others. */
typedef struct HoneShare {
  int64_t thread, count;
  const int64_t (*ranges)[2]; /* begin, end */
} HoneShare;

HONE_ENTRY_LOCAL int32_t hone_entry1_share_for(void* self, HoneChunk body, void* closure, int64_t iterations,
                                               int32_t max_workers, int64_t grain);

/* --- rows.c --- */

/* A new row for a cache: one row of `bytes` of each matrix. */
typedef struct HoneRow {
  int64_t matrices, bytes;
  int64_t matrix_bytes; /* from one matrix of the cache to the next */
} HoneRow;

/* Copies the rows at `from` behind the `*count` rows (an int64_t, of any alignment) of the cache at `to`. */
HONE_ENTRY_LOCAL void hone_entry1_row(const HoneRow* row, const void* from, void* to, const void* count);

/* --- gpu_entry.c --- */

/* NAME and NAME_plain of an artifact for a GPU: `program` is its NAME_gpu, or a HoneGpuPart's head. */
HONE_ENTRY_LOCAL int32_t hone_entry1_gpu(const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                                         void* workspace, const HoneRuntime* rt);
HONE_ENTRY_LOCAL int32_t hone_entry1_gpu_plain(const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                                               void* workspace, const HoneRuntime* rt);

#ifdef __cplusplus
}
#endif

#endif
