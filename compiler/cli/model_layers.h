// A model's layers as tables: `tensorc m.onnx --explain` and `--profile`.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/fusion_notes.h"
#include "compiler/ir/denormals.h"
#include "compiler/model/layers.h"
#include "compiler/runtime/device.h"

namespace hone {

/// Of each layer, in order: what it computes (the model's nodes that it stands for), its workload, where its config is
/// from and, where it only moves elements or computes each by itself, why no other layer does that along the way; where
/// measurements chose its layout, which. Of a GPU's also what steps on the host copy.
std::string layers_text(const Graph& g, const Layers& layers, const FusionNotes& notes, bool is_gpu = false);

/// Why a layer that only moves elements, or computes each by itself, is one; why a convolution lies in its layout.
/// Empty where nothing is known.
struct LayerNotes {
  std::string alone, layout;
};
/// Of each layer, in order.
std::vector<LayerNotes> layer_notes(const Graph& g, const Layers& layers, const FusionNotes& notes,
                                    bool is_gpu = false);

/// Of each kernel: seconds, run by itself on this machine, which is `target`, on seeded inputs that are in its caches;
/// so a layer may take longer in the model. `gpu`: the device of a GPU's target; null for CPUs. `denormals` of CPUs.
StatusOr<std::vector<double>> kernel_seconds(const Layers& layers, const Target& target, Device* gpu = nullptr,
                                             Denormals denormals = kUsualDenormals);

/// Whether a layer only puts the axes of a tensor in another order: between images in blocks and in planes, or as the
/// model says. Views and copies of parts do not count.
bool changes_layout(std::string_view workload);
/// GFLOPS for a column of a table; `-` of what only moves elements.
std::string rate_text(const Workload& w, double seconds);

/// The last lines of a table of layers: the share of `all` seconds that so many changes of layout take, and `all`.
std::string sums_text(double all, double layouts, int changes);

/// Each layer with its time; `seconds`: of kernel_seconds().
std::string profile_text(const Graph& g, const Layers& layers, const std::vector<double>& seconds);

}  // namespace hone
