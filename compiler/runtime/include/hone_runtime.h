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
 * CPUs take 2 as well. (An artifact's exports have a version of their own: HONE_ARTIFACT_ABI.) */
#define HONE_RUNTIME_ABI 3
#define HONE_RUNTIME_ABI_OLDEST 2

/* An entry's result. */
enum {
  HONE_OK = 0,
  HONE_FAULT = 1,         /* an access out of bounds, caught by a run-time check; outputs are incomplete */
  HONE_BAD_ARGUMENTS = 2, /* wrong number of tensors, a null or misaligned data pointer, another dtype or ABI version */
  HONE_PANIC = 3,         /* only from a runtime's parallel_for: it could not run the iterations */
  HONE_GPU_FAILED =
      4, /* only from a runtime's HoneGpu, which knows why: the code was not loaded, no memory, a kernel died */
  HONE_NO_RESULT = 5 /* the model takes a branch of an If that its shapes do not allow, or that is not supported */
};

/* Runs the iterations begin .. end-1 as worker number `worker`. Non-zero ends the region with that code. */
typedef int32_t (*HoneChunk)(int64_t begin, int64_t end, int32_t worker, void* closure);

struct HoneGpu;

/* The host's side of a kernel. A null pointer instead of this struct runs everything on the calling thread. */
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

/* Every entry of an artifact. `args` are contiguous tensors on the CPU whose data is 64-byte aligned (since version 4
   NAME_plain and NAME_run take any alignment of the elements), in the order of the module's parameters (a prepack:
   logical constant, then each packed tensor), of physical shape, none of which overlap (but for caches); only data,
   byte_offset and dtype are read, and shapes where there are several variants or caches. `workspace` is 64-byte aligned
   and as large as the module says (may be null when that is 0). Re-entrant as long as workspaces differ. */
typedef int32_t (*HoneEntry)(const DLTensor* const* args, int32_t n, void* workspace, const HoneRuntime* rt);

/* --- Artifacts for GPUs ---
   They export the same names. NAME takes tensors and a workspace on the device (CUDA: addresses, 16-byte aligned,
   also of memory that it shares with the host, kDLCUDAManaged and kDLCUDAHost, which NAME neither copies nor waits for;
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

/* --- Models for GPUs ---
   NAME_gpu is then the head of a HoneGpuModel, and what `run` and `run_plain` below are given: head.abi_version says
   so. A host that knows programs alone refuses that version with HONE_BAD_ARGUMENTS; its HoneRuntime is what it was.
   Version 1003 added the members behind `step_count`; models that need none of them are of version 1002, where these
   are not to be read. */
#define HONE_GPU_MODEL_ABI 1003 /* apart from the versions of programs */
#define HONE_GPU_MODEL_ABI_OLDEST 1002

/* Where a step's argument lies on the device. */
enum {
  HONE_GPU_ARENA = 0,   /* the workspace: head.workspace_bytes of the device's memory */
  HONE_GPU_WEIGHTS = 1, /* the model's constants, which the host copies to the device when it first meets them */
  HONE_GPU_TENSOR = 2,  /* tensor number `tensor` of the call */
  HONE_GPU_ROWS = 3     /* an s64, the number of rows that the caches have: the host writes it before the steps */
};

typedef struct HoneGpuPlace {
  int32_t in;
  int32_t tensor;
  int64_t offset, bytes; /* offset: a multiple of HoneGpuModel.alignment */
} HoneGpuPlace;

/* A step on the host: its inputs are copied there, `call` computes the outputs, which are copied back. */
typedef struct HoneGpuHostFunction {
  /* The artifact's. `tensors`: the inputs, then the outputs; returns HONE_OK or HONE_NO_RESULT. */
  int32_t (*call)(const int64_t* numbers, void* const* tensors, void* workspace);
  const int64_t* numbers;
  int64_t input_count;
  int64_t workspace_bytes; /* on the host, 64-byte aligned */
} HoneGpuHostFunction;

typedef struct HoneGpuStep {
  const char* name;              /* the nodes of the user's model that it stands for, as that calls them */
  const char* workload;          /* what it computes: "conv2d(n=1,ci=64,...)"; "copy" */
  const HoneGpuProgram* program; /* that it runs, which several steps may share; null: a copy of places[0] to places[1],
                                    which are of the same bytes, or a host function */
  const HoneGpuHostFunction* host; /* null for all other steps */
  const HoneGpuPlace* places;      /* of the program's parameters, in order, and of its workspace where it has one */
  int64_t place_count;
} HoneGpuStep;

/* A cache that grows in place: a buffer of `matrices` with room for `room` rows each. A call says in dimension `axis`
   of tensor `input` how many rows are there, the same of all caches; a step writes the next one. `run` takes `input`
   and `output` at one place on the device, where they stay. `run_plain` takes them there, too, and copies nothing of
   them; of those on the CPU it copies the rows that are there to the device, and the new row back. */
typedef struct HoneGpuCache {
  int32_t input, output; /* tensors of the call */
  int32_t axis;
  int64_t matrices, room, row_bytes;
} HoneGpuCache;

typedef struct HoneGpuModel {
  HoneGpuProgram head;   /* no code and no launches; params: the tensors of the call, in order, as they are on the CPU;
                            workspace_bytes: the arena */
  int64_t alignment;     /* bytes: the device's buffers may have to begin so (CL_DEVICE_MEM_BASE_ADDR_ALIGN) */
  const void* weights;   /* in this process; equal addresses are equal weights */
  int64_t weights_bytes; /* 0: there are none */
  const HoneGpuStep* steps; /* in order, each after the one before */
  int64_t step_count;
  /* Since version 1003: */
  const HoneGpuCache* caches;
  int64_t cache_count;
  /* Not null: the weights are in a file of their own, `weights` is null, and this is where NAME_weights writes
     (release) where they are mapped; null stands there until then, and the entries return HONE_NO_WEIGHTS. */
  const void* const* mapped_weights;
} HoneGpuModel;

/* Some steps of a model by themselves, for who times layers; only `run_plain` is given it, with the model's tensors. It
   uses the buffers of the model's own calls, and waits until the steps are done. All parts in order are a call of the
   model. A host that does not know the version refuses it with HONE_BAD_ARGUMENTS. */
#define HONE_GPU_PART_ABI 2001
enum { HONE_GPU_COPY_INPUTS = 1, HONE_GPU_COPY_OUTPUTS = 2 };

typedef struct HoneGpuPart {
  HoneGpuProgram head; /* version, device_type and target alone say something */
  const HoneGpuModel* whole;
  int64_t first_step, step_count;
  int32_t copies; /* HONE_GPU_COPY_INPUTS: to the device, before the steps; HONE_GPU_COPY_OUTPUTS: back, after them */
} HoneGpuPart;

/* How a host runs programs on one of its GPUs. Called by one thread at a time. */
typedef struct HoneGpu {
  void* self;
  /* NAME: loads the program when it is first met, checks the tensors, launches. May return before the GPU is done. */
  int32_t (*run)(void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n, void* workspace);
  /* NAME_plain: packs, copies, runs, copies back, unpacks. May be null: NAME_plain then returns HONE_BAD_ARGUMENTS. */
  int32_t (*run_plain)(void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                       const HoneRuntime* rt);
} HoneGpu;

/* --- Since version 4: artifacts that describe themselves ---
   They export two entries more, and NAME_artifact, a HoneArtifact (of shared objects that tensorc wrote also as
   hone_this_artifact, for who does not know NAME); what they had before is as it was, and the runtime
   they are given is of the same versions. An artifact without NAME_artifact is of version 3 or 2.

   NAME_run takes what NAME_plain takes, row-major tensors on the CPU, aligned as their elements need, and checks all of
   it: number, device, dtype, shape and strides (null, or those of a row-major tensor) of each, workspace and runtime.

   In a decoder whose caches grow in place (`tensorc --cache`; NAME_json lists them under "caches") a cache's input and
   output begin at one address and have the strides of a buffer of the output's shape as HoneParam says it: that of all
   rows that there is room for. The input's extent along the cache's axis is the number of rows that are there, from 0
   to what HoneParam says, the same of all caches; the output's is one more. Where there are none, the input may be
   without data. The call writes the new row; what lies behind it is not written, and whatever it is, nothing depends on
   it. A GPU's model may have a cache, its input and output alike, on the device while all else is on the CPU: then it
   is not copied from call to call. One on the CPU is copied there by every call, all rows that are
   there.

   An artifact whose weights are in a file of their own has two names more: `int32_t NAME_weights(const char* path)`
   maps that file, for all threads and for good, and is to be called before anything else; a second call does nothing.
   Another version of the file is to be renamed to its name, not written over it: what is mapped must not change.
   NAME_weights_file is the name that the file had, without a folder.

   NAME_cpu names the instruction sets that its code may use ("avx2,fma"), as LLVM calls them: on a CPU without them a
   call ends the process.

   Version 5 says the same of tensors as data, in HoneArtifact.checks.

   NAME_error says what its code means. Artifacts for CPUs also bring a thread pool, NAME_pool and NAME_pool_free, where
   their header declares it. */
#define HONE_ARTIFACT_ABI 5
#define HONE_ARTIFACT_ABI_OLDEST 4 /* HoneArtifact then ends before `checks` */

/* NAME_run's result for bad arguments: HONE_BAD_ARGUMENTS in the low 8 bits, what is wrong in the 8 bits above, and
   above these the number of the tensor, from 1; 0 where it is about no tensor. */
#define HONE_WHAT_IS_WRONG(code) (((code) >> 8) & 0xff)
#define HONE_WRONG_TENSOR(code) ((code) >> 16)
enum {
  HONE_WRONG_RUNTIME = 1,   /* of a version that the artifact does not know, or without the GPU that it needs */
  HONE_WRONG_COUNT = 2,     /* of tensors, or no list of them */
  HONE_WRONG_WORKSPACE = 3, /* null or misaligned */
  HONE_WRONG_DATA = 4,      /* no tensor, or one without data; of a cache also: the two lie apart */
  HONE_WRONG_DEVICE = 5,    /* not the CPU */
  HONE_WRONG_DTYPE = 6,
  HONE_WRONG_SHAPE = 7, /* rank or an extent */
  HONE_WRONG_STRIDES = 8,
  HONE_WRONG_ALIGNMENT = 9,
  /* Artifacts with weights in a file of their own: */
  HONE_NO_WEIGHTS = 10,         /* NAME_weights was not called, or failed */
  HONE_WEIGHTS_UNREADABLE = 11, /* from NAME_weights: the file is not there or cannot be mapped; errno says why */
  HONE_WRONG_WEIGHTS = 12       /* from NAME_weights: the file is of another model or another build, or cut off */
};

/* HoneParam.role. */
enum { HONE_INPUT = 0, HONE_CONSTANT = 1, HONE_OUTPUT = 2 };

typedef struct HoneTensorType {
  DLDataType dtype; /* a bool is an unsigned 8-bit integer */
  int32_t ndim;
  const int64_t* shape;
} HoneTensorType;

typedef struct HoneParam {
  const char* name;
  int32_t role;
  int32_t packed_count;
  HoneTensorType plain;         /* as NAME_run takes it */
  const HoneTensorType* packed; /* as NAME takes it: one tensor in the config's layout, or all that `pack` makes */
  HoneEntry pack;   /* (plain, packed...), on the CPU; null where these are the same, and where NAME_json alone says the
                       layout: of inputs of artifacts for CPUs, and of outputs */
  HoneEntry unpack; /* (packed, plain), on the CPU; null where these are the same, of inputs, and for CPUs */
} HoneParam;

/* One way to run: for these shapes, on up to so many threads. Operators have one; models may have several, whose
   parameters differ in shapes alone. Who has several takes the first one whose shapes are right and whose workers are
   not more than the runtime's (none: 1), else the first whose shapes are right: NAME_run does so, while `run` and
   `entry` here are of this variant. A shape that no variant has is HONE_WRONG_SHAPE of the first tensor with which none
   is left, and NAME_error lists its shapes. */
typedef struct HoneVariant {
  const HoneParam* params; /* in the order of the arguments */
  int32_t param_count;
  int32_t workers;
  int64_t workspace_bytes;     /* of `entry` */
  int64_t run_workspace_bytes; /* of `run` */
  HoneEntry entry;             /* NAME: each parameter's packed tensors */
  HoneEntry run;               /* NAME_run: each parameter's plain tensor */
  const HoneGpuProgram* gpu;   /* NAME_gpu; null for CPUs */
} HoneVariant;

/* --- Since version 5: what NAME_run checks of its tensors, as data ---

   A number that a call decides: the shapes of its tensors say it, the first that has it for all others. */
typedef struct HoneSymbol {
  const char* name;    /* "past" */
  int64_t least, most; /* its range, both included */
  int64_t multiple_of; /* 1: any number from `least` to `most` */
} HoneSymbol;

/* A dimension whose extent is the symbol's value and `more`; HoneTensorType.shape then has the largest. */
typedef struct HoneExtent {
  int32_t dimension, symbol;
  int64_t more;
  int64_t room; /* strides are those of a buffer with so many there; 0: of as many as there are */
} HoneExtent;

typedef struct HoneTensorCheck {
  uint64_t devices;    /* where it may lie: bit i is set for the DLDeviceType i */
  int32_t begins_with; /* the number, from 0, of a tensor before it at whose address it begins while that one has
                          elements; -1: of none */
  int32_t extent_count;
  const HoneExtent* extents; /* those that a call decides, in the order of dimensions */
} HoneTensorCheck;

/* The most symbols of a variant. */
#define HONE_MOST_SYMBOLS 16

typedef struct HoneChecks {
  const HoneTensorCheck* tensors; /* of the variant's parameters, in order */
  const HoneSymbol* symbols;
  int32_t symbol_count;
} HoneChecks;

/* A step of a model. */
typedef struct HoneLayer {
  const char* name;     /* the nodes of the user's model that it stands for, as that calls them */
  const char* workload; /* what it computes: "conv2d(n=1,ci=64,...)"; "copy" */
  HoneEntry run;        /* this step alone, with the arguments of NAME_run, which it trusts; of a GPU it waits until the
                           step is done, and the first and the last layer are the copies there and back */
} HoneLayer;

typedef struct HoneLayers {
  int32_t count;
  const HoneLayer* layers; /* all of them in this order are NAME_run without its checks */
} HoneLayers;

/* Given as the number of tensors, it asks NAME_run for its layers instead: NAME_run(NULL, HONE_ASK_LAYERS, &layers,
   NULL) sets a `const HoneLayers* layers`, which lives as long as the artifact, and returns HONE_OK; of several
   variants to the first one's, and each one's `run` answers for its own. An artifact that does not tell its layers
   apart (an operator; one that was built before there were layers) takes it for a wrong number and leaves `layers` as
   it was. */
#define HONE_ASK_LAYERS (-0x4c415952)

typedef struct HoneArtifact {
  int32_t abi_version; /* HONE_ARTIFACT_ABI; what is added later stands behind what is here */
  int32_t variant_count;
  const HoneVariant* variants;
  const char* name;
  const char* target;                 /* as compiled for: "llvm -mtriple=x86_64-linux -mcpu=x86-64 -threads=2" */
  const char* json;                   /* NAME_json */
  const char* (*error)(int32_t code); /* NAME_error: a sentence, never null, that lives as long as the artifact */
  const HoneChecks* checks;           /* since version 5: of each variant, in order */
} HoneArtifact;

/* A shared object with several artifacts, each a function of its own name, says which as NAME_library, and as
   hone_this_library for who does not know NAME. It has no hone_this_artifact. */
#define HONE_LIBRARY_ABI 1
typedef struct HoneLibrary {
  int32_t abi_version; /* HONE_LIBRARY_ABI; what is added later stands behind what is here */
  int32_t count;
  const HoneArtifact* const* artifacts;
} HoneLibrary;

#ifdef __cplusplus
}
#endif

#endif
