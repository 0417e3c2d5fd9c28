// The GPU that something is built for, opened where it is to run here.
#pragma once

#include "base/status.h"
#include "compiler/host/local_gpu.h"

namespace hone {

/// A target, and the device where what is built is to run here; one without a device for CPUs and where nothing runs.
struct BuildGpu {
  Target target;
  LocalGpu local;
  Device* device() const { return local.device.get(); }
};
/// Opens the device of `target`, a GPU's, where that is not complete (it is the first one here then) or `is_run`.
/// Unavailable, in one line, where there is none.
StatusOr<BuildGpu> open_build_gpu(const Target& target, bool is_run);

}  // namespace hone
