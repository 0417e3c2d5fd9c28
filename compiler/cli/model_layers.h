// A model's layers as tables: `tensorc m.onnx --explain` and `--profile`.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/model/layers.h"

namespace hone {

/// A line for each layer, in order: what it computes (the model's nodes that it stands for), its workload, and where
/// its config is from.
std::string layers_text(const Graph& g, const Layers& layers);

/// The same with times: each kernel is run by itself on this machine, which is `target`, on seeded inputs that are in
/// its caches; so a layer may take longer in the model.
StatusOr<std::string> profile_text(const Graph& g, const Layers& layers, const Target& target);

}  // namespace hone
