#include "compiler/runtime/gpu/drivers.h"

#include <fmt/format.h>

#include "compiler/runtime/gpu/cuda_driver.h"
#include "compiler/runtime/gpu/opencl.h"

namespace hone {
namespace {

struct Row {
  std::string_view kind;
  StatusOr<std::unique_ptr<DeviceDriver>> (*load)(const NvrtcOptions&);
};

constexpr Row kRows[] = {
    {"cuda", [](const NvrtcOptions& nvrtc) { return load_cuda({.nvrtc = nvrtc}); }},
    {"opencl", [](const NvrtcOptions&) { return load_opencl(); }},
};

}  // namespace

StatusOr<std::unique_ptr<DeviceDriver>> load_driver(std::string_view kind, const NvrtcOptions& nvrtc) {
  for (const Row& row : kRows)
    if (row.kind == kind) return row.load(nvrtc);
  return absl::InvalidArgumentError(fmt::format("devices of kind '{}' have no driver", kind));
}

}  // namespace hone
