// Finds and opens devices through the drivers of this machine. Loads vendors' libraries, which may crash: only for
// processes that may die of it.
#pragma once

#include <memory>
#include <vector>

#include "compiler/runtime/device.h"
#include "rpc/agent/pipe/device_protocol.h"

namespace hone::agent {

/// True for OpenCL's view of a GPU that is also `offered` through CUDA: two measurements at a time on one GPU would be
/// worthless.
bool is_offered_as_cuda(const DeviceInfo& device, const std::vector<FoundDevice>& offered);

/// All devices of the kinds asked for. A kind without devices, and a device that another kind already offers, are a
/// line of `skipped`.
DeviceList find_devices(const std::vector<DeviceKind>& kinds);

/// NotFound when it is not there (any more).
StatusOr<std::unique_ptr<Device>> open_device(const DeviceSpec& spec, const DeviceOptions& options, FoundDevice* found);

}  // namespace hone::agent
