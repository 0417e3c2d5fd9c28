// A device of a tracker for tensorc: `tensorc … --tracker T --device pi4 --check --bench`.
#pragma once

#include <memory>

#include "base/status.h"
#include "compiler/driver/request/remote.h"
#include "tuner/driver/tune_request.h"

namespace hone {

/// Finds a device as the tuner does, by the same flags (f.tracker, which must be given, f.device, f.labels,
/// f.credentials, f.insecure, f.target, f.threads). Kernels run in one session of the tracker a call of run(), built,
/// checked and timed by the device's agent.
StatusOr<std::unique_ptr<RemoteDevice>> find_fleet_device(const TuneRequest& f);

}  // namespace hone
