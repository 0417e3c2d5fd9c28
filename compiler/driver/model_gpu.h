// The GPU that a model is built for, and what of `tensorc m.onnx --check` is another thing there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/host/local_gpu.h"
#include "compiler/model/check_progress.h"
#include "compiler/model/layers.h"

namespace hone {

/// A model's target, and the device where the model is to run here; one without a device for CPUs and where nothing
/// runs.
struct ModelGpu {
  Target target;
  LocalGpu local;
  Device* device() const { return local.device.get(); }
};
/// Opens the device of `target`, a GPU's, where that is not complete (it is the first one here then) or `is_run`.
/// Unavailable, in one line, where there is none.
StatusOr<ModelGpu> open_model_gpu(const Target& target, bool is_run);

struct GpuLayerCheck {
  size_t checked = 0;    ///< kernels
  int64_t compared = 0;  ///< elements
  double rel_error = 0;  ///< the largest of a kernel
  std::string wrong;     ///< the first kernel that is wrong, and how; empty: none is
  /// By layer: its kernel's error; nothing: it was not compared.
  std::vector<std::optional<double>> errors = {};
};
/// Each kernel of the layers by itself on the device, on seeded inputs, against its reference, which the CPU computes.
GpuLayerCheck check_gpu_layers(const Layers& layers, const Target& target, int threads, Device& device,
                               const CheckProgress& progress = {});

}  // namespace hone
