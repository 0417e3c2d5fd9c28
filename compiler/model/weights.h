// A model's constants as its kernels take them: packed when the model is built, one blob, equal ones once.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/model/layers.h"

namespace hone {

struct Weights {
  std::string bytes;
  /// Offsets of the kernel arguments of parameter `param` of call number `call`; empty where it is no constant.
  std::vector<std::vector<std::vector<int64_t>>> offsets;
};

/// Packs on this machine, with code for the least CPU of its architecture and without contraction: the bytes do not
/// depend on the machine.
Weights pack_weights(const Graph& g, const Layers& layers);

}  // namespace hone
