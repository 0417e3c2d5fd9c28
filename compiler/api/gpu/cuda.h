/* A device of CUDA's, for the files that make its driver's table: cuda.c, cuda_copies.c, cuda_recordings.c. */
#ifndef HONE_GPU_CUDA_H
#define HONE_GPU_CUDA_H

#include "compiler/api/gpu/drivers.h"
#include "compiler/runtime/launcher/cuda_functions.h"

/* Members are pointers of the functions' types. */
#define HONE_CUDA_POINTER(member, symbol, ...) CuResult (*member)(__VA_ARGS__);
typedef struct HoneCudaNodes {
  HONE_CUDA_NODE_FUNCTIONS(HONE_CUDA_POINTER)
} HoneCudaNodes;
typedef struct HoneCudaFunctions {
  HONE_CUDA_FUNCTIONS(HONE_CUDA_POINTER)
  HONE_CUDA_CALLER_FUNCTIONS(HONE_CUDA_POINTER)
  HoneCudaNodes nodes;
  int has_nodes; /* all of them */
} HoneCudaFunctions;
#undef HONE_CUDA_POINTER

typedef struct HoneCuda {
  HoneCudaFunctions cu;
  CuDevice device;
  CuContext context;
  int is_retained;   /* the primary context, to be released */
  void* recorder;    /* the stream of commands that are recorded and not sent; null: none are */
  CuStream sides[2]; /* null: not made yet */
  CuEvent event;     /* recorded and waited for at once; null: not made yet */
  double limit;
  char lost[512]; /* why the device is of no use; empty: it is */
  int is_stuck;   /* lost because it does not end: a driver's calls that free would wait for it */
  char model[256], version[32], arch[16];
} HoneCuda;

/* A kernel with the addresses of its arguments. */
typedef struct HoneCudaBound {
  CuFunction function;
  const HoneGpuLaunch* launch;
  CuAddress* addresses;
  void** parameters; /* the addresses' own */
  int32_t count;
} HoneCudaBound;

/* HONE_OK for 0, else what `what` was for with the driver's words; keeps those that lose the device. */
int32_t hone_internal_cuda_check(HoneCuda* cuda, CuResult code, HoneWords* words, const char* what, ...)
    __attribute__((format(printf, 4, 5)));

/* The device's context is current in our calls alone: the thread may have another one. */
int32_t hone_internal_cuda_enter(HoneCuda* cuda, HoneWords* words);
int32_t hone_internal_cuda_leave(HoneCuda* cuda, int32_t code);
/* For what is freed: whether the driver can be asked to. */
int hone_internal_cuda_enter_to_free(HoneCuda* cuda);

/* Pinned memory and streams beside those of callers, of the driver's table. */
int32_t hone_internal_cuda_allocate_pinned(void* self, int64_t bytes, void** memory, HoneWords* words);
void hone_internal_cuda_free_pinned(void* self, void* memory);
int32_t hone_internal_cuda_fetch(void* self, HoneMemory from, int64_t offset, void* to, int64_t bytes, void* stream,
                                 HoneWords* words);
int32_t hone_internal_cuda_side_stream(void* self, int32_t number, void** stream, HoneWords* words);
int32_t hone_internal_cuda_follow(void* self, void* stream, void* other, HoneWords* words);
/* Ends what they made. */
void hone_internal_cuda_close_copies(HoneCuda* cuda);

/* The recordings of the driver's table. */
int32_t hone_internal_cuda_record(void* self, int32_t (*commands)(void* closure, void* stream), void* closure,
                                  void** recording, HoneWords* words);
int32_t hone_internal_cuda_replay(void* self, void* recording, void* stream, HoneWords* words);
int32_t hone_internal_cuda_rebind(void* self, void* recording, int32_t (*commands)(void* closure, void* stream),
                                  void* closure, HoneWords* words);
void hone_internal_cuda_forget(void* self, void* recording);

/* A command whose stream is the recorder: added to the recording, or given the memory that it has now. */
int32_t hone_internal_cuda_record_launch(HoneCuda* cuda, const HoneCudaBound* bound, HoneWords* words);
int32_t hone_internal_cuda_record_copy(HoneCuda* cuda, CuAddress from, CuAddress to, int64_t bytes, HoneWords* words);

#endif
