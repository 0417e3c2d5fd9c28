// The CUDA driver: its functions, and its errors as statuses.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/status.h"
#include "compiler/runtime/launcher/cuda_functions.h"

namespace hone {

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
