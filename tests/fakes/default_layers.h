// The kernels of a graph with the default configs, for this machine.
#pragma once

#include <vector>

#include "compiler/model/layers.h"

namespace hone {

inline Layers default_layers(const Graph& g, const Target& target) {
  return make_layers(g, target, "m", std::vector<bool>(g.values.size(), false),
                     [](const Workload&, const Space& space) {
                       return ChosenConfig{space.default_config(), "default", ""};
                     });
}

}  // namespace hone
