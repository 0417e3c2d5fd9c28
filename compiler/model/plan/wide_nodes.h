// Reference results of a model's nodes that the importer split into several steps.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

/// Steps that stand for one node of the model (Node::origin) and pass on floats of 16 bits: computed in f64, with f64
/// between them, since the node rounds its outputs alone. A correctly imported graph has none, so this finds importers
/// and rows that store such values wrongly.
class WideNodes {
 public:
  /// `g` lives as long as this.
  explicit WideNodes(const Graph& g);

  using Evaluate = std::function<std::vector<TensorData>(const Workload& w, std::span<const TensorData> inputs)>;
  /// The outputs of node `n` of the graph; values between such steps are f64, all others have the graph's type.
  std::vector<TensorData> evaluate(size_t n, std::span<const TensorData> inputs, const Evaluate& evaluate) const;
  /// How many nodes are computed in f64.
  size_t count() const;

 private:
  const Graph& g_;
  std::vector<std::optional<Workload>> wide_;  ///< by node: the workload that is computed instead
  std::vector<bool> is_wide_;                  ///< by value
};

}  // namespace hone
