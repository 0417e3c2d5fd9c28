/* libhone_gpu: artifacts for GPUs, on devices of CUDA and OpenCL. C11 and C++; needs libc alone, the drivers are looked
   for when a device is opened.

   Whoever has one GPU needs nothing of this header: hone_open of an artifact for a GPU opens the device, and hone_run
   takes tensors on the CPU and on the device, each by itself. With CUDA those on the CPU (kDLCPU) are copied through
   page-locked memory of the library's, up to 64 MiB for a device, and large ones beside the layers that neither need
   nor change them; kDLCUDAHost and kDLCUDAManaged are used where they are. Functions that can fail return a code as
   hone.h's do, and hone_gpu_last_error says it in words. With CUDA and OpenCL alike any
   thread may call any function; a device runs one call at a time, the others wait. */
#ifndef HONE_GPU_H
#define HONE_GPU_H

#include <hone.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A device, and what was loaded and copied there. */
typedef struct HoneGpuDevice HoneGpuDevice;

typedef struct HoneGpuProperties {
  const char* name;      /* "cuda:0": what hone_gpu_open takes */
  const char* api;       /* "cuda", "opencl" */
  const char* model;     /* the vendor's name for it */
  const char* driver;    /* its version, as the driver says it */
  const char* arch;      /* "sm_90"; empty where the API has no such thing */
  int64_t memory_bytes;  /* of the device */
  int32_t compute_units; /* multiprocessors */
  int32_t is_integrated; /* its memory is the host's, as on a Jetson */
  int32_t device_type;   /* of DLPack: kDLCUDA, kDLOpenCL */
  int32_t device_id;     /* the number in `name`, and that of tensors that lie there */
} HoneGpuProperties;

/* Opens "cuda:0", "opencl:1", or the first one of an API ("cuda", "opencl"); "auto" is the first one of CUDA, else of
   OpenCL, where GPUs stand before other devices. `*gpu` is to be closed; null where this fails. HONE_NO_GPU: there is
   no such device, and the words say what was looked for, where, and what is there. CUDA's devices are used through
   their primary context, which the CUDA runtime, torch and cupy use, too. */
HONE_API int32_t hone_gpu_open(const char* name, HoneGpuDevice** gpu);
/* The same in a context that the program has made, and keeps until the device is closed: a CUcontext (`device` is
   ignored), or a cl_context and a cl_device_id of it. `api`: "cuda" or "opencl". */
HONE_API int32_t hone_gpu_open_in(const char* api, void* context, void* device, HoneGpuDevice** gpu);
/* Frees all that is on it for Hone; nothing may run there, and what was made of it is freed before. Null does nothing.
   In the child of a fork() nothing of the device is touched. */
HONE_API void hone_gpu_close(HoneGpuDevice* gpu);

/* Lives as long as the device. */
HONE_API const HoneGpuProperties* hone_gpu_properties(const HoneGpuDevice* gpu);
/* The CUcontext or cl_context: whose memory and streams calls take. */
HONE_API void* hone_gpu_context(const HoneGpuDevice* gpu);

/* How long one wait for the device may take before it is told lost: 60 seconds unless this says otherwise; 0: for ever.
   Every call on a device that is lost fails with HONE_GPU_FAILED; a new process can use it again. */
HONE_API void hone_gpu_set_limit(HoneGpuDevice* gpu, double seconds);

/* A runtime for hone_run and for artifacts' entries: the GPU, and the threads of `pool` (null: the calling one) for
   what runs on the CPU. `stream`: a CUstream or cl_command_queue (in order, of the device's context) on which calls
   run, and behind whose commands they begin; null: CUDA's default stream, or a queue of the device's own. `is_async`:
   hone_run returns before the device is done where all tensors of the call are on it, and no step of the model runs on
   the host. Models keep memory of their own for each of up to 8 streams. Freed by hone_gpu_runtime_free, before the
   device and the pool are. */
HONE_API int32_t hone_gpu_runtime_new(HoneGpuDevice* gpu, const HoneRuntime* pool, void* stream, int32_t is_async,
                                      HoneRuntime** runtime);
HONE_API void hone_gpu_runtime_free(HoneRuntime* runtime);
/* Waits until all is done that was sent to the runtime's stream; says what failed there. */
HONE_API int32_t hone_gpu_wait(const HoneRuntime* runtime);

/* Memory of the device for programs that have no other: `*data` is what a DLTensor has as its data (CUDA: an address;
   OpenCL: a cl_mem). At least one byte. HONE_NO_MEMORY where there is not so much. */
HONE_API int32_t hone_gpu_allocate(HoneGpuDevice* gpu, int64_t bytes, void** data);
/* No call that uses it may run. Null does nothing. */
HONE_API void hone_gpu_free(HoneGpuDevice* gpu, void* data);
/* Copies between the host and bytes offset .. offset + bytes - 1 of such memory; done on return. */
HONE_API int32_t hone_gpu_write(HoneGpuDevice* gpu, void* data, int64_t offset, const void* from, int64_t bytes);
HONE_API int32_t hone_gpu_read(HoneGpuDevice* gpu, const void* data, int64_t offset, void* to, int64_t bytes);

/* Why the last call that failed on this thread did so; empty where none has. Never null; lives until the next
   one that fails. */
HONE_API const char* hone_gpu_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
