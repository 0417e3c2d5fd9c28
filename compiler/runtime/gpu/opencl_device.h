// One OpenCL device: a context, an in-order queue that profiles, and the device.h operations over them.
#pragma once

#include <memory>

#include "compiler/runtime/device.h"
#include "compiler/runtime/gpu/opencl_api.h"

namespace hone {

StatusOr<std::unique_ptr<Device>> open_opencl_device(std::shared_ptr<const OpenclApi> api, cl_device_id id,
                                                     const DeviceInfo& info, const DeviceOptions& options);

}  // namespace hone
