// One NVIDIA GPU: its primary context and the device.h operations over it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "compiler/runtime/device.h"
#include "compiler/runtime/gpu/cuda_api.h"
#include "compiler/runtime/gpu/nvrtc.h"

namespace hone {

/// NVRTC for the architectures that are asked for; loaded when they are. Shared by a driver's devices, which may be in
/// use by different threads.
struct CudaCompiler {
  NvrtcOptions options;
  StatusOr<std::shared_ptr<const Nvrtc>> for_arch(const std::string& arch);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Nvrtc>> loaded_;
};

StatusOr<std::unique_ptr<Device>> open_cuda_device(std::shared_ptr<const CudaApi> api, CuDevice id,
                                                   const DeviceInfo& info, std::shared_ptr<CudaCompiler> compiler,
                                                   const DeviceOptions& options);

}  // namespace hone
