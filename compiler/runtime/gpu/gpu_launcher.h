// Runs artifacts for GPUs on a Device: the host passes it as HoneRuntime::gpu.
#pragma once

#include <memory>
#include <vector>

#include "compiler/runtime/device.h"
#include "compiler/runtime/include/hone_runtime.h"
#include "compiler/runtime/launcher/launcher.h"

namespace hone {

/// Runs programs and models (launcher/launcher.h) on a Device, whose functions are its driver. It keeps what it has
/// loaded as long as it lives: no longer than the artifacts it has run. For one thread at a time, as the device.
/// Artifact tensors are what DeviceBuffer::native() says, or the same from elsewhere (OpenCL: of the device's context;
/// CUDA: kDLCUDAManaged and kDLCUDAHost, too, which the host reads without a copy once the device is done).
class GpuLauncher {
 public:
  /// `device` must outlive it.
  explicit GpuLauncher(Device& device);
  GpuLauncher(const GpuLauncher&) = delete;
  GpuLauncher& operator=(const GpuLauncher&) = delete;

  /// Valid as long as this object.
  const HoneGpu* gpu() const { return &gpu_; }
  /// A runtime whose entries run here: `cpu`'s threads (may be null: none) do the packing.
  HoneRuntime runtime(const HoneRuntime* cpu = nullptr) const;
  /// Why the last call did not return HONE_OK; ok after one that did.
  const Status& status() const { return status_; }

 private:
  friend struct DeviceAsDriver;

  int32_t call(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n, void* workspace,
               const HoneRuntime* rt, const HoneCallMode& mode);

  Device& device_;
  std::vector<int32_t> host_device_types_;
  HoneGpu gpu_;
  Status status_;
  Status device_status_;  ///< of the device, in the call that is made
  std::unique_ptr<HoneLauncher, decltype(&hone_internal_launcher_free)> launcher_;
};

}  // namespace hone
