// The kernels of a model's layers on a GPU of this machine, each against its reference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/model/check/check_progress.h"
#include "compiler/model/plan/layers.h"
#include "compiler/runtime/device.h"

namespace hone {

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
