// Layers of a model one by one: why each is there, and how long it takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/graph/fusion_notes.h"
#include "compiler/ir/denormals.h"
#include "compiler/model/plan/layers.h"
#include "compiler/runtime/device.h"

namespace hone {

/// Why a layer that only moves elements, or computes each by itself, is one; why a convolution lies in its layout.
/// Empty where nothing is known.
struct LayerNotes {
  std::string alone, layout;
};
/// The notes of each layer, in order.
std::vector<LayerNotes> layer_notes(const Graph& g, const Layers& layers, const FusionNotes& notes,
                                    bool is_gpu = false);

/// Seconds of each kernel by itself on this machine, which is `target`, on seeded inputs that lie in its caches: in the
/// model a layer may take longer. `gpu`: the device of a GPU's target; null for CPUs. `denormals`: of CPUs.
StatusOr<std::vector<double>> kernel_seconds(const Layers& layers, const Target& target, Device* gpu = nullptr,
                                             Denormals denormals = kUsualDenormals);

/// Whether a layer only puts the axes of a tensor in another order: between images in blocks and in planes, or as the
/// model says. Views and copies of parts do not count.
bool changes_layout(std::string_view workload);

}  // namespace hone
