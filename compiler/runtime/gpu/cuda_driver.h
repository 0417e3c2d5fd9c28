// NVIDIA's GPUs through the driver's own library, when the machine has one: nothing is linked, no CUDA is needed to
// build.
#pragma once

#include <memory>
#include <string>

#include "compiler/runtime/device.h"
#include "compiler/runtime/gpu/nvrtc.h"

namespace hone {

struct CudaOptions {
  std::string library = "libcuda.so.1";  ///< the driver
  /// For text: loaded with the first compile(), for the device's architecture and the driver's CUDA version.
  NvrtcOptions nvrtc = {};
  std::string driver_version_file = "/proc/driver/nvidia/version";
};

/// The driver and its GPUs, each a device. NotFound, with the reason, when there is no driver or no GPU. Uses no memory
/// of a GPU before it is opened; the process must not fork afterwards.
///
/// A device compiles with NVRTC, and loads cubins and PTX text, which the driver compiles: where NVRTC is missing or
/// knows the GPU no more, compile() is NotFound and PTX from elsewhere is the way. Commands go to the default stream of
/// the GPU's primary context.
StatusOr<std::unique_ptr<DeviceDriver>> load_cuda(const CudaOptions& options = {});

}  // namespace hone
