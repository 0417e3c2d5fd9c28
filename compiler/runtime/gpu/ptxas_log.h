// The kernels' resources from the log of ptxas (`--ptxas-options=-v`).
#pragma once

#include <string_view>
#include <vector>

#include "compiler/runtime/device.h"

namespace hone {

/// The entry functions of a log, in its order: name, registers, spills, shared memory. Lines that are not understood
/// are skipped, and the values they contain stay unknown.
std::vector<KernelInfo> kernels_of_ptxas_log(std::string_view log);

}  // namespace hone
