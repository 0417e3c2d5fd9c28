/* libhone_runtime: opens artifacts (shared objects that tensorc wrote) and runs them. C11 and C++; needs libc alone.

   Functions that can fail return a code, HONE_OK or another, and hone_last_error says it in words. Any number of
   threads may call functions of a `const` model at once, and hone_run. */
#ifndef HONE_H
#define HONE_H

#include <hone_runtime.h>

#if defined(__GNUC__)
#define HONE_API __attribute__((visibility("default")))
#else
#define HONE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Codes beyond those of hone_runtime.h (HONE_OK to HONE_NO_RESULT and, of HONE_BAD_ARGUMENTS, what is wrong). */
enum {
  HONE_NOT_FOUND = 16,     /* the file is not there or may not be read */
  HONE_NO_ARTIFACT = 17,   /* it is no shared object, cut off, not loadable, or has no artifact of that name */
  HONE_WRONG_MACHINE = 18, /* it is for another processor, or for one that has more instructions than this one */
  HONE_WRONG_VERSION = 19, /* the artifact's ABI is of a version that this library does not know */
  HONE_NO_MEMORY = 20,
  HONE_NO_THREADS = 21, /* the system makes no more */
  HONE_NO_GPU = 22      /* the artifact is for a GPU: libhone_gpu, a driver or a device is not there */
};

/* Why the last call that failed on this thread did so, in words; empty where none has. UTF-8 without control
   characters, one line; of a list each part has a line of its own, which begins with two blanks. Lives until the next
   call that fails on this thread. Never null. */
HONE_API const char* hone_last_error(void);

/* An artifact and the workspaces of its calls. */
typedef struct HoneModel HoneModel;

/* Opens the shared object at `path` (also relative, with or without a slash). An artifact is found by itself in what
   `tensorc --emit so` wrote, whatever the file is called now; in another shared object by the file's name, libNAME.so
   or NAME.so. A library of several (hone_runtime.h) is refused: hone_open_named opens each. Weights in a file of their
   own are looked for beside it, under the name that the file had when it was built, unless the program has called
   NAME_weights. `*model` is to be closed by hone_close; null where this fails. An artifact with a thread pool stays
   loaded after that; a file that was built anew under its path is another one. One for a GPU is opened with libhone_gpu
   (hone_gpu.h), which is looked for in the program, beside this library and where the loader looks: it opens the first
   device of the artifact's kind, which all models of the process share, and loads the artifact there. HONE_NO_GPU, and
   what to do, where the library, a driver or a device is missing. */
HONE_API int32_t hone_open(const char* path, HoneModel** model);
/* The artifact NAME of a shared object, which may hold several. */
HONE_API int32_t hone_open_named(const char* path, const char* name, HoneModel** model);
/* Calls `tell` with the name of each artifact of the library at `path` (hone_runtime.h), in order; hone_open_named
   opens them. The name lives during the call alone. HONE_NO_ARTIFACT of a file that is no library. */
HONE_API int32_t hone_names(const char* path, void (*tell)(void* data, const char* name), void* data);
/* An artifact for a GPU that the caller has opened: hone_gpu_runtime_new's, or a host's own HoneGpu. `runtime` outlives
   the model; runs that bring no GPU of their own use it. `name` null: the only artifact. For an artifact for CPUs it
   is hone_open. */
HONE_API int32_t hone_open_on(const char* path, const char* name, const HoneRuntime* runtime, HoneModel** model);
/* An artifact that is part of the program (NAME_artifact of its header). One for a GPU opens its device in the first
   run that brings none. */
HONE_API int32_t hone_open_linked(const HoneArtifact* artifact, HoneModel** model);
/* Frees the model; nothing may run. Pointers got from it are no longer valid. Null does nothing. */
HONE_API void hone_close(HoneModel* model);

/* The functions below take a model that was opened, and no null.

   The artifact's description of itself. It lives as long as the model, as do the parameters. */
HONE_API const HoneArtifact* hone_artifact(const HoneModel* model);

/* The device that hone_open took for the model, with hone_gpu.h's functions: of the model, which gives it back. Null
   for artifacts for CPUs, and where the caller's GPU is used. */
struct HoneGpuDevice;
HONE_API struct HoneGpuDevice* hone_device(const HoneModel* model);

/* Inputs, constants (weights: role HONE_CONSTANT) among them, and outputs, each in the order in which hone_run takes
   them: `name`, `role` and `plain`, the type: dtype, and `ndim` extents in `shape`. Null for a number below 0 or from
   the count on. Where the artifact has several variants these are the first one's. */
HONE_API int32_t hone_input_count(const HoneModel* model);
HONE_API int32_t hone_output_count(const HoneModel* model);
HONE_API const HoneParam* hone_input(const HoneModel* model, int32_t index);
HONE_API const HoneParam* hone_output(const HoneModel* model, int32_t index);

/* Variants: ways to run for other shapes (a batch of 1, 4 or 16) and numbers of threads. hone_run takes the first one
   whose shapes are those of its tensors and whose `workers` are not more than the pool's threads (no pool: 1), else the
   first whose shapes are right. Most artifacts have one. Their parameters differ in shapes alone.
   hone_variant: null for a number below 0 or from the count on, as of what follows; what it has beside `params` and
   `workers` is for who calls artifacts by himself. */
HONE_API int32_t hone_variant_count(const HoneModel* model);
HONE_API const HoneVariant* hone_variant(const HoneModel* model, int32_t variant);
HONE_API const HoneParam* hone_variant_input(const HoneModel* model, int32_t variant, int32_t index);
HONE_API const HoneParam* hone_variant_output(const HoneModel* model, int32_t variant, int32_t index);
/* The number of the variant that hone_run takes for inputs of these shapes; its outputs are to be of the variant's
   shapes. Data is not looked at. Caches that grow in place count here by their most rows alone. Below 0 where there is
   none, which hone_last_error says. */
HONE_API int32_t hone_find_variant(const HoneModel* model, const DLTensor* const* inputs, int32_t input_count,
                                   const HoneRuntime* pool);

/* Runs once: reads `inputs`, writes `outputs`. Tensors are row-major without gaps (strides may be null), on the CPU,
   aligned as their elements need, and of the types above: each is checked. Outputs must not overlap each other or the
   inputs (but caches that grow in place), which is not checked. `pool` divides the work: of hone_pool_new, of
   an artifact's NAME_pool, a host's own; null: all on the calling thread. Waits until it is done. Workspaces are the
   model's, one for each call at once, and are kept until hone_close.

   Tensors of an artifact for a GPU may also lie on the device (their DLDevice says so), each by itself, and are not
   copied then; memory that the device shares with the host is used where it is. `pool` is then of hone_gpu_runtime_new,
   which says stream and whether the call waits, or as above: the call runs on the device that hone_open took. Operators
   whose config has a layout of its own take their tensors from the CPU. */
HONE_API int32_t hone_run(HoneModel* model, const DLTensor* const* inputs, int32_t input_count,
                          const DLTensor* const* outputs, int32_t output_count, const HoneRuntime* pool);

/* The layers of a model, in the order in which they run: `name`, the nodes of the user's model that the layer stands
   for, and `workload`, what it computes. Null for a number below 0 or from the count on. An artifact that does not tell
   its layers apart, as of an operator, has one, of the artifact's name and without a workload (""). Where the artifact
   has several variants these are the first one's. */
HONE_API int32_t hone_layer_count(const HoneModel* model);
HONE_API const HoneLayer* hone_layer(const HoneModel* model, int32_t index);
/* The same of a variant; 0 and null where there is no such variant. */
HONE_API int32_t hone_variant_layer_count(const HoneModel* model, int32_t variant);
HONE_API const HoneLayer* hone_variant_layer(const HoneModel* model, int32_t variant, int32_t index);

/* Runs as hone_run does, then once more layer by layer, and writes the seconds that each took to `seconds`, of
   `layer_count` elements: as many as there are layers in the variant that hone_run takes. */
HONE_API int32_t hone_run_timed(HoneModel* model, const DLTensor* const* inputs, int32_t input_count,
                                const DLTensor* const* outputs, int32_t output_count, const HoneRuntime* pool,
                                double* seconds, int32_t layer_count);

/* A pool of `threads` threads, those that call it included; 0: one for each CPU that the calling thread may run on. Any
   number of threads and models may use it at once; one call has its threads, those that meet it run on their own
   thread. Its threads block signals, keep to the CPUs of the thread that made it and sleep at the latest 200 us after
   their work. In the child of a fork() all runs on the calling thread. Null where it cannot be made. */
HONE_API HoneRuntime* hone_pool_new(int32_t threads);
/* Ends it; nothing may run on it. Null does nothing. Not for pools of NAME_pool, which have NAME_pool_free. */
HONE_API void hone_pool_free(HoneRuntime* pool);

#ifdef __cplusplus
}
#endif

#endif
