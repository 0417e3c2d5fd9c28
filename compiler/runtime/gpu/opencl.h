// OpenCL devices of every platform, through the ICD loader when the machine has one: nothing is linked.
#pragma once

#include <memory>
#include <string>

#include "compiler/runtime/device.h"

namespace hone {

struct OpenclOptions {
  std::string library = "libOpenCL.so.1";  ///< the ICD loader
};

/// The loader and the devices that can be used: OpenCL 1.2 at least, with a compiler. NotFound, with the reason, when
/// there is no loader, no platform or no such device. A `kind` of "cpu" is a device as any other: PoCL.
StatusOr<std::unique_ptr<DeviceDriver>> load_opencl(const OpenclOptions& options = {});

}  // namespace hone
