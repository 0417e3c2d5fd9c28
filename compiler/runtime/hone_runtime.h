/* The artifact's ABI: what a compiled kernel exports and what it asks of its host. Plain C, needs only dlpack/dlpack.h.
 */
#ifndef HONE_RUNTIME_H
#define HONE_RUNTIME_H

#include <dlpack/dlpack.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* HoneRuntime.abi_version; an entry refuses an unknown one with HONE_BAD_ARGUMENTS. Version 3 added `gpu`; entries for
 * CPUs take 2 as well. */
#define HONE_RUNTIME_ABI 3
#define HONE_RUNTIME_ABI_OLDEST 2

/* What an entry returns. */
enum {
  HONE_OK = 0,
  HONE_FAULT = 1,         /* an access out of bounds, caught by a run-time check; outputs are incomplete */
  HONE_BAD_ARGUMENTS = 2, /* wrong number of tensors, a null or misaligned data pointer, another dtype or ABI version */
  HONE_PANIC = 3,         /* only from a runtime's parallel_for: it could not run the iterations */
  HONE_GPU_FAILED =
      4 /* only from a runtime's HoneGpu, which knows why: the code was not loaded, no memory, a kernel died */
};

/* Runs the iterations begin .. end-1 as worker number `worker`. Non-zero ends the region with that code. */
typedef int32_t (*HoneChunk)(int64_t begin, int64_t end, int32_t worker, void* closure);

struct HoneGpu;

/* What a kernel asks of its host. A null pointer instead of this struct runs everything on the calling thread. */
typedef struct HoneRuntime {
  int32_t abi_version; /* HONE_RUNTIME_ABI */
  int32_t workers;     /* threads that parallel_for uses, the caller included */
  void* self;          /* passed back to parallel_for */
  /* Calls `body` on disjoint chunks that cover 0 .. iterations-1, at most one chunk per worker at a time, with worker
     numbers below min(workers, max_workers); returns when all are done, with the first non-zero result or 0. Called
     inside a chunk, it runs inline. `grain` says how to divide: 0: one chunk per worker, all of about the same size; n
     > 0: chunks of n iterations (the last may be shorter), in order, each for the worker that is free first. It is a
     wish: any division gives the same results. */
  int32_t (*parallel_for)(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t max_workers,
                          int64_t grain);
  const struct HoneGpu* gpu; /* since version 3; null on a host that runs nothing on GPUs */
} HoneRuntime;

/* Every entry of an artifact. `args` are contiguous tensors on the CPU whose data is 64-byte aligned, in the order of
   the module's parameters (a prepack: logical constant, packed constant), of physical shape, none of which overlap;
   only data, byte_offset and dtype are read. `workspace` is 64-byte aligned and as large as the module says (may be
   null when that is 0). Re-entrant as long as workspaces differ. */
typedef int32_t (*HoneEntry)(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);

/* --- Artifacts for GPUs ---
   They export the same names. NAME takes tensors and a workspace on the device (CUDA: addresses, 16-byte aligned;
   OpenCL: a cl_mem in `data`, byte_offset 0), and NAME_plain row-major tensors on the CPU; both go through rt->gpu,
   which must be there. NAME_prepack<i> packs a constant on the CPU (further ones an input, or unpack an output, where
   their layouts ask for it; HoneGpuParam names them too); copying is the caller's. NAME_gpu is the HoneGpuProgram. */

/* One launch: a grid and blocks of one dimension. The kernel takes a pointer for each parameter, in order, then the
 * workspace where the program has one. */
typedef struct HoneGpuLaunch {
  const char* kernel;
  int64_t blocks, threads;
  int64_t dynamic_shared_bytes; /* to be asked for at the launch; CUDA: extern __shared__, OpenCL: one more __local
                                   argument; 0: none */
} HoneGpuLaunch;

typedef struct HoneGpuParam {
  const char* name;
  int32_t is_output;
  DLDataType dtype;
  int64_t elements;       /* on the device, in the config's layout */
  int64_t plain_elements; /* of the row-major tensor */
  HoneEntry pack;         /* on the CPU: (row-major, config's layout); null where these are the same, and of outputs */
  HoneEntry unpack;       /* on the CPU: (config's layout, row-major); null where these are the same, and of inputs */
} HoneGpuParam;

typedef struct HoneGpuProgram {
  int32_t abi_version; /* HONE_RUNTIME_ABI */
  int32_t device_type; /* kDLCUDA or kDLOpenCL */
  const char* target;  /* as compiled for: "cuda -arch=sm_90 -sms=132" */
  const char* arch;    /* that the binary is for, "sm_90"; empty where there is none */
  const void* binary;  /* CUDA: a cubin; null: there is only the text */
  int64_t binary_bytes;
  const char* text; /* CUDA: PTX, for arch and later ones; OpenCL C. Ends with a zero that text_bytes does not count */
  int64_t text_bytes;
  const HoneGpuLaunch* launches; /* in order, each after the one before */
  int64_t launch_count;
  const HoneGpuParam* params;
  int64_t param_count;
  int64_t workspace_bytes; /* on the device */
} HoneGpuProgram;

/* How a host runs programs on one of its GPUs. Called by one thread at a time. */
typedef struct HoneGpu {
  void* self;
  /* NAME: loads the program when it is first met, checks the tensors, launches. May return before the GPU is done. */
  int32_t (*run)(void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n, void* workspace);
  /* NAME_plain: packs, copies, runs, copies back, unpacks. May be null: NAME_plain then returns HONE_BAD_ARGUMENTS. */
  int32_t (*run_plain)(void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                       const HoneRuntime* rt);
} HoneGpu;

#ifdef __cplusplus
}
#endif

#endif
