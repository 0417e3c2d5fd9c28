// Models on a Device: the steps of a HoneGpuModel with their kernels found and their arguments as device buffers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "compiler/runtime/buffer.h"
#include "compiler/runtime/device.h"
#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

/// Whether the head is that of a model.
inline bool is_gpu_model(const HoneGpuProgram& head) {
  return head.abi_version >= HONE_GPU_MODEL_ABI_OLDEST && head.abi_version <= HONE_GPU_MODEL_ABI;
}

/// Whether the head is that of a part of a model.
inline bool is_gpu_part(const HoneGpuProgram& head) { return head.abi_version == HONE_GPU_PART_ABI; }

/// The launches of a program that is loaded on the device.
using LoadProgram = std::function<StatusOr<const std::vector<BoundLaunch>*>(const HoneGpuProgram&)>;

/// Keeps each model's weights on the device, and the buffers of the calls with tensors on the CPU, as long as it lives.
/// For one thread at a time, as the device.
class GpuModels {
 public:
  /// `device` must outlive it.
  GpuModels(Device& device, LoadProgram load) : device_(device), load_(std::move(load)) {}

  /// Runs on tensors of the device, with an arena of the caller's there. `rows`: the result of rows_of(). Waits only
  /// for steps on the host; one without a result (HONE_NO_RESULT) is DataLoss.
  Status run(const HoneGpuModel& model, std::span<DeviceBuffer* const> tensors, DeviceBuffer* arena, int64_t rows);
  /// On row-major tensors on the CPU: copies the inputs, runs, waits once, copies the outputs back. Caches may be on
  /// the device, where they stay; OpenCL's are retained until a call has others.
  Status run_plain(const HoneGpuModel& model, const DLTensor* const* args);
  /// Runs some of the steps of run_plain(), launch by launch, and waits for them.
  Status run_part(const HoneGpuPart& part, const DLTensor* const* args);

 private:
  /// A step's launches and their arguments.
  struct BoundStep {
    const std::vector<BoundLaunch>* launches = nullptr;  ///< null: a copy of the first buffer to the second, or `host`
    std::vector<DeviceBuffer*> arguments;
    int64_t bytes = 0;                          ///< of a copy
    const HoneGpuHostFunction* host = nullptr;  ///< a step on the host, with its tensors there, then its workspace
    std::vector<AlignedBuffer> on_host = {};
  };
  /// A model over given buffers.
  struct Bound {
    std::map<std::tuple<DeviceBuffer*, int64_t, int64_t>, std::unique_ptr<DeviceBuffer>> parts;
    std::vector<BoundStep> steps;
    bool is_repeated = false;  ///< its buffers are those of the calls to come
    bool has_run = false;
    std::map<size_t, std::unique_ptr<DeviceRecording>> recordings;  ///< of the device's steps from that one on
  };
  /// The buffers that run_plain() keeps for a model.
  struct Own {
    std::vector<std::unique_ptr<DeviceBuffer>> tensors;  ///< by parameter; null: a cache that the CPU never had
    std::unique_ptr<DeviceBuffer> arena;
    /// By cache: the caller's on the device, of the last call; null: that one's was on the CPU.
    std::vector<std::unique_ptr<DeviceBuffer>> theirs;
    Bound bound;
  };

  /// The memory that a model's places are in.
  struct Memory {
    std::span<DeviceBuffer* const> tensors;
    DeviceBuffer *arena = nullptr, *weights = nullptr, *rows = nullptr;
  };

  StatusOr<DeviceBuffer*> weights_of(const HoneGpuModel& model);
  StatusOr<DeviceBuffer*> rows_buffer(const HoneGpuModel& model);
  Status tell_rows(const HoneGpuModel& model, int64_t rows);
  StatusOr<DeviceBuffer*> place(const HoneGpuPlace& p, const Memory& memory, Bound* bound);
  Status bind(const HoneGpuModel& model, std::span<DeviceBuffer* const> tensors, DeviceBuffer* arena, Bound* bound);
  Status launch(const Bound& bound, size_t begin, size_t end);
  Status run_steps(Bound& bound);
  StatusOr<DeviceRecording*> recording_of(Bound& bound, size_t begin, size_t end);
  Status call_host(const BoundStep& step);
  StatusOr<Own*> own_buffers(const HoneGpuModel& model);
  Status copy_inputs(const HoneGpuModel& model, const DLTensor* const* args, int64_t rows, const Own& own);
  Status copy_outputs(const HoneGpuModel& model, const DLTensor* const* args, int64_t rows, const Own& own);
  Status take_caches(const HoneGpuModel& model, const DLTensor* const* args, Own* own);

  Device& device_;
  LoadProgram load_;
  std::map<const void*, std::unique_ptr<DeviceBuffer>> weights_;
  std::map<const HoneGpuModel*, std::unique_ptr<DeviceBuffer>> rows_;  ///< how many rows caches have
  std::map<const HoneGpuModel*, Own> own_;
};

}  // namespace hone
