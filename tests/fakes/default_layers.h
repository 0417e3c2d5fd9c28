// The kernels of a graph with the default configs, for this machine.
#pragma once

#include <vector>

#include "compiler/model/plan/layers.h"

namespace hone {

inline Layers default_layers(const Graph& g, const Target& target) {
  return make_layers(g, target, "m", Storage(g), std::vector<int64_t>(g.values.size(), 64),
                     [](const Workload&, const Target&, const Space& space) {
                       return ChosenConfig{space.default_config(), "default", ""};
                     });
}

}  // namespace hone
