// The CPU that calls a GPU's kernels: this machine's, or the one that --host names.
#pragma once

#include "base/status.h"
#include "compiler/cli/tensorc.h"
#include "compiler/target/target.h"

namespace hone {

/// The target of an artifact's CPU code: `here` without --host. Usage errors: of a `target` that is no GPU, of a --host
/// that is one, and with a flag that runs a model's artifact where the host's code does not run.
StatusOr<Target> gpu_host(const TensorcOptions& o, const Target& target, const Target& here);

}  // namespace hone
