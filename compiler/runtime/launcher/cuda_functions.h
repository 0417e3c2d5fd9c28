/* The CUDA driver's functions that are used, with declarations of our own: no CUDA is needed to build. Their binary
   interface has not changed since CUDA 11 (a test holds this file against cuda.h where there is one). */
#ifndef HONE_CUDA_FUNCTIONS_H
#define HONE_CUDA_FUNCTIONS_H

#include <stddef.h>

/* NOLINTBEGIN(modernize-use-using): C reads this file, too. */
typedef int CuResult;                 /* CUresult, an enum */
typedef int CuDevice;                 /* an ordinal */
typedef unsigned long long CuAddress; /* CUdeviceptr */
typedef void* CuContext;              /* these are pointers to structs of the driver's */
typedef void* CuModule;
typedef void* CuFunction;
typedef void* CuStream;
typedef void* CuEvent;
typedef void* CuGraph;
typedef void* CuGraphExec;
typedef void* CuGraphNode;

/* CUDA_KERNEL_NODE_PARAMS_v1. */
typedef struct CuKernelNode {
  CuFunction function;
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_bytes;
  void **parameters, **extra;
} CuKernelNode;

/* CUDA_MEMCPY3D_v2: one row of one layer is a plain copy. */
typedef struct CuCopySide {
  size_t x_bytes, y, z, level;
  int memory; /* CUmemorytype */
  void* host;
  CuAddress address;
  void *array, *reserved;
  size_t pitch, height;
} CuCopySide;
typedef struct CuCopyNode {
  CuCopySide from, to;
  size_t bytes, rows, layers;
} CuCopyNode;
/* NOLINTEND(modernize-use-using) */

/* Member, exported symbol, parameters. In cuda.h the plain names are macros for the symbols with _v2. */
#define HONE_CUDA_FUNCTIONS(F)                                                                                        \
  F(init, cuInit, unsigned flags)                                                                                     \
  F(driver_version, cuDriverGetVersion, int* version)                                                                 \
  F(device_count, cuDeviceGetCount, int* count)                                                                       \
  F(device, cuDeviceGet, CuDevice* device, int ordinal)                                                               \
  F(device_name, cuDeviceGetName, char* name, int bytes, CuDevice device)                                             \
  F(device_memory, cuDeviceTotalMem_v2, size_t* bytes, CuDevice device)                                               \
  F(device_attribute, cuDeviceGetAttribute, int* value, int attribute, CuDevice device)                               \
  F(retain_context, cuDevicePrimaryCtxRetain, CuContext* context, CuDevice device)                                    \
  F(release_context, cuDevicePrimaryCtxRelease_v2, CuDevice device)                                                   \
  F(set_context, cuCtxSetCurrent, CuContext context)                                                                  \
  F(synchronize, cuCtxSynchronize, void)                                                                              \
  F(load_module, cuModuleLoadDataEx, CuModule* module, const void* image, unsigned n, int* options, void** values)    \
  F(unload_module, cuModuleUnload, CuModule module)                                                                   \
  F(function, cuModuleGetFunction, CuFunction* function, CuModule module, const char* name)                           \
  F(function_attribute, cuFuncGetAttribute, int* value, int attribute, CuFunction function)                           \
  F(set_function_attribute, cuFuncSetAttribute, CuFunction function, int attribute, int value)                        \
  F(allocate, cuMemAlloc_v2, CuAddress* address, size_t bytes)                                                        \
  F(free, cuMemFree_v2, CuAddress address)                                                                            \
  F(copy_to_device, cuMemcpyHtoD_v2, CuAddress to, const void* from, size_t bytes)                                    \
  F(copy_to_host, cuMemcpyDtoH_v2, void* to, CuAddress from, size_t bytes)                                            \
  F(copy_on_device, cuMemcpyDtoDAsync_v2, CuAddress to, CuAddress from, size_t bytes, CuStream stream)                \
  F(fill, cuMemsetD8_v2, CuAddress to, unsigned char byte, size_t bytes)                                              \
  F(launch, cuLaunchKernel, CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
    unsigned block_y, unsigned block_z, unsigned dynamic_bytes, CuStream stream, void** parameters, void** extra)     \
  F(create_event, cuEventCreate, CuEvent* event, unsigned flags)                                                      \
  F(destroy_event, cuEventDestroy_v2, CuEvent event)                                                                  \
  F(record_event, cuEventRecord, CuEvent event, CuStream stream)                                                      \
  F(synchronize_event, cuEventSynchronize, CuEvent event)                                                             \
  F(elapsed_ms, cuEventElapsedTime, float* ms, CuEvent from, CuEvent to)                                              \
  F(error_name, cuGetErrorName, CuResult code, const char** name)                                                     \
  F(error_text, cuGetErrorString, CuResult code, const char** text)

/* Since CUDA 10.2: graphs that are made node by node, and whose nodes take other arguments later. The names without _v2
   are of these versions in every driver since. */
#define HONE_CUDA_NODE_FUNCTIONS(F)                                                                                 \
  F(create, cuGraphCreate, CuGraph* graph, unsigned flags)                                                          \
  F(add_kernel, cuGraphAddKernelNode, CuGraphNode* node, CuGraph graph, const CuGraphNode* after, size_t n,         \
    const CuKernelNode* kernel)                                                                                     \
  F(add_copy, cuGraphAddMemcpyNode, CuGraphNode* node, CuGraph graph, const CuGraphNode* after, size_t n,           \
    const CuCopyNode* copy, CuContext context)                                                                      \
  F(instantiate, cuGraphInstantiate, CuGraphExec* exec, CuGraph graph, CuGraphNode* wrong, char* log, size_t bytes) \
  F(set_kernel, cuGraphExecKernelNodeSetParams, CuGraphExec exec, CuGraphNode node, const CuKernelNode* kernel)     \
  F(set_copy, cuGraphExecMemcpyNodeSetParams, CuGraphExec exec, CuGraphNode node, const CuCopyNode* copy,           \
    CuContext context)                                                                                              \
  F(launch, cuGraphLaunch, CuGraphExec exec, CuStream stream)                                                       \
  F(destroy_exec, cuGraphExecDestroy, CuGraphExec exec)                                                             \
  F(destroy, cuGraphDestroy, CuGraph graph)

/* Since CUDA 11.4: work that is recorded once and launched again as one. */
#define HONE_CUDA_GRAPH_FUNCTIONS(F)                                                                      \
  F(create_stream, cuStreamCreate, CuStream* stream, unsigned flags)                                      \
  F(destroy_stream, cuStreamDestroy_v2, CuStream stream)                                                  \
  F(begin_capture, cuStreamBeginCapture_v2, CuStream stream, int mode)                                    \
  F(end_capture, cuStreamEndCapture, CuStream stream, CuGraph* graph)                                     \
  F(instantiate, cuGraphInstantiateWithFlags, CuGraphExec* exec, CuGraph graph, unsigned long long flags) \
  F(launch, cuGraphLaunch, CuGraphExec exec, CuStream stream)                                             \
  F(destroy_exec, cuGraphExecDestroy, CuGraphExec exec)                                                   \
  F(destroy, cuGraphDestroy, CuGraph graph)

/* Functions for a program that shares the GPU with other code: the current context may be another's at any time, and
   streams are others', too. */
#define HONE_CUDA_CALLER_FUNCTIONS(F)                                                          \
  F(push_context, cuCtxPushCurrent_v2, CuContext context)                                      \
  F(pop_context, cuCtxPopCurrent_v2, CuContext* context)                                       \
  F(context_device, cuCtxGetDevice, CuDevice* device)                                          \
  F(query_stream, cuStreamQuery, CuStream stream)                                              \
  F(synchronize_stream, cuStreamSynchronize, CuStream stream)                                  \
  F(stream_context, cuStreamGetCtx, CuStream stream, CuContext* context)                       \
  F(create_stream, cuStreamCreate, CuStream* stream, unsigned flags)                           \
  F(destroy_stream, cuStreamDestroy_v2, CuStream stream)                                       \
  F(wait_event, cuStreamWaitEvent, CuStream stream, CuEvent event, unsigned flags)             \
  F(allocate_pinned, cuMemHostAlloc, void** memory, size_t bytes, unsigned flags)              \
  F(free_pinned, cuMemFreeHost, void* memory)                                                  \
  F(send, cuMemcpyHtoDAsync_v2, CuAddress to, const void* from, size_t bytes, CuStream stream) \
  F(fetch, cuMemcpyDtoHAsync_v2, void* to, CuAddress from, size_t bytes, CuStream stream)

/* The values of CUDA's enumerations that are used. */
/* CUdevice_attribute. */
enum {
  HONE_CU_INTEGRATED = 18,
  HONE_CU_MULTIPROCESSORS = 16,
  HONE_CU_CAPABILITY_MAJOR = 75,
  HONE_CU_CAPABILITY_MINOR = 76
};
/* CUfunction_attribute. */
enum { HONE_CU_FUNCTION_SHARED_BYTES = 1, HONE_CU_FUNCTION_MAX_DYNAMIC_SHARED = 8 };
enum { HONE_CU_STREAM_NON_BLOCKING = 1, HONE_CU_CAPTURE_RELAXED = 2 };
enum { HONE_CU_EVENT_WITHOUT_TIME = 2 };
/* CUmemorytype: also of memory of the host that the device has an address for. */
enum { HONE_CU_MEMORY_OF_DEVICE = 2 };
/* CUjit_option. */
enum { HONE_CU_JIT_ERROR_LOG = 5, HONE_CU_JIT_ERROR_LOG_BYTES = 6 };
/* CUresult. */
enum {
  HONE_CU_OUT_OF_MEMORY = 2,
  HONE_CU_UNSUPPORTED_PTX_VERSION = 222,
  HONE_CU_NOT_FOUND = 500,
  HONE_CU_NOT_READY = 600
};

/* Whether a context that returned this code can no longer be used: a kernel died of it, or the device did. */
static inline int hone_cuda_is_final(CuResult code) {
  switch (code) {
    case 4:   /* DEINITIALIZED */
    case 46:  /* DEVICE_UNAVAILABLE */
    case 214: /* ECC_UNCORRECTABLE */
    case 220: /* NVLINK_UNCORRECTABLE */
    case 226: /* CONTAINED */
    case 700: /* ILLEGAL_ADDRESS */
    case 702: /* LAUNCH_TIMEOUT */
    case 709: /* CONTEXT_IS_DESTROYED */
    case 710: /* ASSERT */
    case 714: /* HARDWARE_STACK_ERROR */
    case 715: /* ILLEGAL_INSTRUCTION */
    case 716: /* MISALIGNED_ADDRESS */
    case 717: /* INVALID_ADDRESS_SPACE */
    case 718: /* INVALID_PC */
    case 719: /* LAUNCH_FAILED */
    case 999: /* UNKNOWN */ return 1;
    /* Codes that newer drivers add to the 7xx: so far all of them are exceptions on the device. */
    default: return code > 720 && code < 800;
  }
}

#endif
