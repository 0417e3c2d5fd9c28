// Owners of the handles of hone_gpu.h.
#pragma once

#include <hone_gpu.h>

#include <memory>

namespace hone {

struct CloseDevice {
  void operator()(HoneGpuDevice* g) const { hone_gpu_close(g); }
};
using LibraryDevice = std::unique_ptr<HoneGpuDevice, CloseDevice>;
struct FreeRuntime {
  void operator()(HoneRuntime* r) const { hone_gpu_runtime_free(r); }
};
using LibraryRuntime = std::unique_ptr<HoneRuntime, FreeRuntime>;

}  // namespace hone
