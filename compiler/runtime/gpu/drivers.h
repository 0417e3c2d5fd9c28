// The drivers of all kinds of GPUs: one place that knows each by name.
#pragma once

#include <memory>
#include <string_view>

#include "compiler/runtime/device.h"
#include "compiler/runtime/gpu/nvrtc.h"

namespace hone {

/// The driver of a kind of GPUs (target/gpu_kinds.h) and its devices; errors as load_cuda() and load_opencl().
/// InvalidArgument for a kind without one: a CPU's. `nvrtc`: where the compiler of CUDA text is looked for.
StatusOr<std::unique_ptr<DeviceDriver>> load_driver(std::string_view kind, const NvrtcOptions& nvrtc = {});

}  // namespace hone
