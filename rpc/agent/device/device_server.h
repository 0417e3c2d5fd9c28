// The process that has a device open, for one candidate after the other: a driver takes seconds to start. Any error of
// the device ends it, and the runner starts another.
#pragma once

#include "rpc/agent/pipe/device_protocol.h"
#include "rpc/agent/sandbox/sandbox.h"

namespace hone::agent {

/// Opens the device, says a DeviceHello on `fd` and serves it until the other end closes. Never returns. `folder`: the
/// only one that the driver may write to; `sandbox`: the limits that the process enters before it loads the driver;
/// null: none.
[[noreturn]] void serve_device(int fd, const DeviceSpec& spec, const std::string& folder,
                               const PreparedSandbox* sandbox);

}  // namespace hone::agent
