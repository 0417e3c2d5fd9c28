// Every layer of a model against its reference, on the inputs that it has in the model.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/model/layers.h"

namespace hone {

struct LayerCheck {
  size_t checked = 0;               ///< layers
  int64_t compared = 0;             ///< elements
  double rel_error = 0;             ///< the largest of a layer: the errors' norm as a share of the values'
  std::string wrong;                ///< the first layer that is wrong, and how; empty: none is
  std::vector<TensorData> outputs;  ///< of the model, as the layers compute them
};

/// Runs the layers' kernels one by one on these inputs of the model, and compares sampled elements of what each
/// computes with the reference of its workload on the same inputs; stops at the first that is wrong. On this machine,
/// which is `target`.
LayerCheck check_layers(const Graph& g, const Layers& layers, const Target& target,
                        const std::vector<TensorData>& inputs);

}  // namespace hone
