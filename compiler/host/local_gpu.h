// A GPU (or another device of OpenCL) of this machine, and a Module compiled for it, with tensors to run it on: for
// --bench, --check and tests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/runtime/device.h"
#include "compiler/target/target.h"

namespace hone {

/// A device and which target it is.
struct LocalGpu {
  std::unique_ptr<DeviceDriver> driver;
  std::unique_ptr<Device> device;
  Target target;
};

/// The device of this machine that runs code for `target`, a GPU's: for an incomplete target the first one (GPUs before
/// OpenCL's other devices), else the first of that architecture, or, for OpenCL, with that much local memory and so
/// many threads, one that is the target itself before others. Unavailable, in one line, when there is none.
StatusOr<LocalGpu> open_local_gpu(const Target& target);

class LocalGpuKernel {
 public:
  /// Compiles `m` for the device (CUDA text by NVRTC, or PTX by LLVM where there is none; OpenCL text) and gives it
  /// tensors, of unknown contents. `device` must outlive it. UserError when `m` has no form, does not compile or does
  /// not fit.
  LocalGpuKernel(const Module& m, const Target& target, Device& device);

  const Module& module() const { return module_; }
  /// Packs row-major logical elements of parameter `i` into its layout on the device.
  void set_input(size_t i, const void* logical);
  /// The row-major logical elements of parameter `i`.
  std::vector<char> get_output(size_t i) const;
  /// All physical_bytes(i) of parameter `i`, as the kernel sees them.
  void write_physical(size_t i, const void* bytes);
  int64_t physical_bytes(size_t i) const { return buffers_[i]->bytes(); }
  /// Starts all launches of one run; does not wait.
  Status launch();
  Status wait() { return device_.synchronize(); }

 private:
  Module module_;
  Device& device_;
  std::unique_ptr<DeviceProgram> program_;
  std::vector<BoundLaunch> launches_;
  std::vector<std::unique_ptr<DeviceBuffer>> buffers_;
  std::vector<DeviceBuffer*> arguments_;
};

}  // namespace hone
