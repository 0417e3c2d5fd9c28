// Finds and opens devices through the drivers that this machine has. Loads vendors' libraries: only in processes that
// may end of it.
#pragma once

#include <memory>
#include <vector>

#include "compiler/runtime/device.h"
#include "rpc/agent/pipe/device_protocol.h"

namespace hone::agent {

/// OpenCL's view of a GPU that is among those `offered` through CUDA: two measurements at a time on one GPU would be
/// worth nothing.
bool is_offered_as_cuda(const DeviceInfo& device, const std::vector<FoundDevice>& offered);

/// All devices of the kinds asked for; a kind without any is a line of `skipped`, and so is what another kind already
/// offers.
DeviceList find_devices(const std::vector<DeviceKind>& kinds);

/// NotFound when it is not there (any more).
StatusOr<std::unique_ptr<Device>> open_device(const DeviceSpec& spec, const DeviceOptions& options, FoundDevice* found);

}  // namespace hone::agent
