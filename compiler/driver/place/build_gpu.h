// The GPU that something is built for, opened where it is to run here.
#pragma once

#include "base/status.h"
#include "compiler/host/local_gpu.h"

namespace hone {

/// A target, and the GPU on which the artifact runs here; no device for CPUs and when nothing runs.
struct BuildGpu {
  Target target;
  LocalGpu local;
  Device* device() const { return local.device.get(); }
};
/// Opens the device of `target`, a GPU's, where that is not complete (it is the first one here then) or `is_run`.
/// Unavailable, in one line, where there is none.
StatusOr<BuildGpu> open_build_gpu(const Target& target, bool is_run);

}  // namespace hone
