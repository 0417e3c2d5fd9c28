/* The artifact's ABI: what a compiled kernel exports and what it asks of its host. Plain C, needs only dlpack/dlpack.h. */
#ifndef HONE_RUNTIME_H
#define HONE_RUNTIME_H

#include <dlpack/dlpack.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* HoneRuntime.abi_version; an entry refuses another one with HONE_BAD_ARGUMENTS. */
#define HONE_RUNTIME_ABI 2

/* What an entry returns. */
enum {
  HONE_OK = 0,
  HONE_FAULT = 1,         /* an access out of bounds, caught by a run-time check; outputs are incomplete */
  HONE_BAD_ARGUMENTS = 2, /* wrong number of tensors, a null or misaligned data pointer, another dtype or ABI version */
  HONE_PANIC = 3          /* only from a runtime's parallel_for: it could not run the iterations */
};

/* Runs the iterations begin .. end-1 as worker number `worker`. Non-zero ends the region with that code. */
typedef int32_t (*HoneChunk)(int64_t begin, int64_t end, int32_t worker, void* closure);

/* What a kernel asks of its host. A null pointer instead of this struct runs everything on the calling thread. */
typedef struct HoneRuntime {
  int32_t abi_version; /* HONE_RUNTIME_ABI */
  int32_t workers;     /* threads that parallel_for uses, the caller included */
  void* self;          /* passed back to parallel_for */
  /* Calls `body` on disjoint chunks that cover 0 .. iterations-1, at most one chunk per worker at a time, with worker numbers below
     min(workers, max_workers); returns when all are done, with the first non-zero result or 0. Called inside a chunk, it runs inline.
     `grain` says how to divide: 0: one chunk per worker, all of about the same size; n > 0: chunks of n iterations (the last may be
     shorter), in order, each for the worker that is free first. It is a wish: any division gives the same results. */
  int32_t (*parallel_for)(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t max_workers, int64_t grain);
} HoneRuntime;

/* Every entry of an artifact. `args` are contiguous tensors on the CPU whose data is 64-byte aligned, in the order of the module's
   parameters (a prepack: logical constant, packed constant), of physical shape, none of which overlap; only data, byte_offset and dtype are read. `workspace` is
   64-byte aligned and as large as the module says (may be null when that is 0). Re-entrant as long as workspaces differ. */
typedef int32_t (*HoneEntry)(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);

#ifdef __cplusplus
}
#endif

#endif
