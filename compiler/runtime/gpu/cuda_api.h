// The CUDA driver's functions that are used, with declarations of our own: no CUDA is needed to build. Their binary
// interface has not changed since CUDA 11 (a test holds this file against cuda.h where there is one).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"

namespace hone {

using CuResult = int;                  // CUresult, an enum
using CuDevice = int;                  // an ordinal
using CuAddress = unsigned long long;  // CUdeviceptr
using CuContext = void*;               // these are pointers to structs of the driver's
using CuModule = void*;
using CuFunction = void*;
using CuStream = void*;
using CuEvent = void*;
using CuGraph = void*;
using CuGraphExec = void*;

// Member, exported symbol, parameters. In cuda.h the plain names are macros for the symbols with _v2.
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
  F(synchronize, cuCtxSynchronize)                                                                                    \
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

// Since CUDA 11.4: work that is recorded once and launched again as one.
#define HONE_CUDA_GRAPH_FUNCTIONS(F)                                                                      \
  F(create_stream, cuStreamCreate, CuStream* stream, unsigned flags)                                      \
  F(destroy_stream, cuStreamDestroy_v2, CuStream stream)                                                  \
  F(begin_capture, cuStreamBeginCapture_v2, CuStream stream, int mode)                                    \
  F(end_capture, cuStreamEndCapture, CuStream stream, CuGraph* graph)                                     \
  F(instantiate, cuGraphInstantiateWithFlags, CuGraphExec* exec, CuGraph graph, unsigned long long flags) \
  F(launch, cuGraphLaunch, CuGraphExec exec, CuStream stream)                                             \
  F(destroy_exec, cuGraphExecDestroy, CuGraphExec exec)                                                   \
  F(destroy, cuGraphDestroy, CuGraph graph)

#define HONE_CUDA_POINTER(member, symbol, ...) CuResult (*member)(__VA_ARGS__) = nullptr;
struct CudaGraphApi {
  HONE_CUDA_GRAPH_FUNCTIONS(HONE_CUDA_POINTER)
};

struct CudaApi {
  HONE_CUDA_FUNCTIONS(HONE_CUDA_POINTER)
  std::optional<CudaGraphApi> graphs;  ///< nothing with a driver older than CUDA 11.4

  /// Opens the driver's library. NotFound when there is none or it is older than CUDA 11.
  static StatusOr<std::shared_ptr<const CudaApi>> load(const std::string& library);

  /// Captures the work that `enqueue` sends to `stream`, which is not the default one, as an executable graph. The
  /// caller destroys it. Passes on the error of `enqueue`. Needs `graphs`.
  StatusOr<CuGraphExec> record(CuStream stream, const std::function<Status()>& enqueue) const;

  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string describe(CuResult code) const;
  /// Ok, or the status that device.h promises for the code, saying what failed.
  Status status(CuResult code, const std::string& what) const;
};

#undef HONE_CUDA_POINTER

/// Whether a context that returned this code can no longer be used.
bool cuda_error_is_final(CuResult code);

// The values of CUDA's enumerations that are used.
namespace cuda {
inline constexpr int kMaxThreadsPerBlock = 1, kMaxGridX = 5, kSharedPerBlock = 8, kWarpSize = 10, kMultiprocessors = 16,
                     kL2Bytes = 38, kCapabilityMajor = 75, kCapabilityMinor = 76,
                     kSharedPerBlockOptIn = 97;  // CUdevice_attribute
// CUfunction_attribute.
inline constexpr int kFunctionMaxThreads = 0, kFunctionSharedBytes = 1, kFunctionRegisters = 4,
                     kFunctionMaxDynamicShared = 8;
inline constexpr unsigned kStreamNonBlocking = 1;              // CUstream_flags
inline constexpr int kCaptureModeRelaxed = 2;                  // CUstreamCaptureMode
inline constexpr int kJitErrorLog = 5, kJitErrorLogBytes = 6;  // CUjit_option
inline constexpr CuResult kInvalidValue = 1, kOutOfMemory = 2, kDeinitialized = 4, kDeviceUnavailable = 46,
                          kNoDevice = 100, kInvalidImage = 200, kNoBinaryForGpu = 209, kEccUncorrectable = 214,
                          kInvalidPtx = 218, kNvlinkUncorrectable = 220, kJitCompilerNotFound = 221,
                          kUnsupportedPtxVersion = 222, kContained = 226, kInvalidSource = 300, kNotFound = 500,
                          kIllegalAddress = 700, kLaunchOutOfResources = 701, kLaunchTimeout = 702,
                          kContextIsDestroyed = 709, kAssert = 710, kHardwareStackError = 714,
                          kIllegalInstruction = 715, kMisalignedAddress = 716, kInvalidAddressSpace = 717,
                          kInvalidPc = 718, kLaunchFailed = 719, kCooperativeLaunchTooLarge = 720, kNotPermitted = 800,
                          kUnknown = 999;
}  // namespace cuda

}  // namespace hone
