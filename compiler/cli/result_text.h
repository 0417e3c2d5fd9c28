// Results of tensorc as text: tables of layers, of quantised layers, and times.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/quantize_model.h"
#include "compiler/driver/run_variant.h"
#include "compiler/graph/fusion_notes.h"
#include "compiler/model/plan/layers.h"

namespace hone {

/// A table of the layers, in order: the computation (the model's nodes that the layer stands for), its workload, the
/// source of its config; for a layer that only moves elements or computes each by itself, why it is not fused; where
/// measurements chose its layout, which. For a GPU also the steps that the host copies.
std::string layers_text(const Graph& g, const Layers& layers, const FusionNotes& notes, bool is_gpu = false);

/// GFLOPS for a column of a table; `-` for a workload that only moves elements.
std::string rate_text(const Workload& w, double seconds);
/// The last lines of a table of layers: the share of `all` seconds that so many changes of layout take, and `all`.
std::string sums_text(double all, double layouts, int changes);

/// Each layer with its time; `seconds`: of kernel_seconds().
std::string profile_text(const Graph& g, const Layers& layers, const std::vector<double>& seconds);

/// Each layer that was quantised: its error, and its times in f32 and in int8, with the reason where the latter is
/// longer; then the errors of the outputs.
std::string quantization_text(const QuantizationReport& report);

/// How far outputs are from those that were given, and the time of a run; each line begins with `prefix`.
std::string run_text(const VariantFigures& figures, std::string_view prefix);

}  // namespace hone
