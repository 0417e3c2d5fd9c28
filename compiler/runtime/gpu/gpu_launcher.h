// Runs artifacts for GPUs on a Device: the host passes it as HoneRuntime::gpu.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "compiler/runtime/buffer.h"
#include "compiler/runtime/device.h"
#include "compiler/runtime/gpu/gpu_model.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

/// Runs programs and models. Loads each program when it is first run (CUDA: the cubin where it is the device's, else
/// the text) and keeps it, with the device buffers that NAME_plain needs, as long as it lives: no longer than the
/// artifacts it has run. For one thread at a time, as the device. Artifact tensors are what DeviceBuffer::native()
/// says, or the same from elsewhere (OpenCL: of the device's context; CUDA: kDLCUDAManaged and kDLCUDAHost, too, which
/// the host reads without a copy once the device is done).
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
  struct Loaded {
    std::unique_ptr<DeviceProgram> program;
    std::vector<BoundLaunch> launches;
    /// State of NAME_plain: parameters and workspace; empty before its first call.
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<AlignedBuffer> packed;  ///< on the CPU, for the parameters that are packed
  };

  int32_t code_of(Status status);
  Status check_device(const HoneGpuProgram& program) const;
  StatusOr<Loaded*> load(const HoneGpuProgram& program);
  Status launch(const Loaded& loaded, const std::vector<DeviceBuffer*>& buffers);
  Status run(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n, void* workspace);
  Status run_plain(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n, const HoneRuntime* rt);

  Device& device_;
  HoneGpu gpu_;
  Status status_;
  std::map<const HoneGpuProgram*, Loaded> loaded_;
  GpuModels models_;
};

}  // namespace hone
