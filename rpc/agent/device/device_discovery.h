// Finds and opens devices through the drivers of this machine. Loads vendors' libraries, which may crash: only for
// processes that may die of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/runtime/device.h"
#include "rpc/agent/pipe/device_protocol.h"

namespace hone::agent {

/// The kind as which OpenCL's view of a GPU is `offered` by its vendor's own driver already: two measurements at a time
/// on one GPU would be worthless. Empty: as none.
std::string offered_as(const DeviceInfo& device, const std::vector<FoundDevice>& offered);

/// All devices of the kinds asked for. A kind without devices, and a device that another kind already offers, are a
/// line of `skipped`.
DeviceList find_devices(const std::vector<DeviceKind>& kinds);

/// NotFound when it is not there (any more).
StatusOr<std::unique_ptr<Device>> open_device(const DeviceSpec& spec, const DeviceOptions& options, FoundDevice* found);

}  // namespace hone::agent
