// How long the layers of a model take, on one thread and on all of the target's.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/model/layers.h"
#include "compiler/model/tasks.h"
#include "compiler/target/target.h"

namespace hone {

/// Seconds that the best known kernel of a workload takes on a target; nothing where nobody measured it there.
using MeasuredLayer = std::function<std::optional<double>(const Workload&, const Target&)>;

/// From one time of each layer: what was measured on the target, else what was on one thread of it, else an estimate.
/// The other is the same work differently divided: whole iterations to each thread, and what starting regions costs. So
/// both are of one measurement: of two, on other days and other machines of a kind, memory-bound layers looked faster
/// on one thread than on two, and GPT-2's decoder took 1.8 times as long.
class LayerCosts {
 public:
  /// `measured` may be empty: then all are estimates, which need only be right about which layers are small.
  LayerCosts(const Graph& g, const Layers& layers, TaskTable& tasks, const Target& target,
             const MeasuredLayer& measured);

  /// Seconds of a call when the calling thread computes it alone.
  double alone(size_t call) const { return alone_[call]; }
  /// Seconds of a call when all threads of the target divide it, from its begin to the end of the last of them; of a
  /// call that has nothing to divide alone().
  double divided(size_t call) const { return divided_[call]; }

 private:
  std::vector<double> alone_, divided_;  ///< by call
};

/// Estimated seconds of a layer on one thread, when nothing has to be fetched: half of what whole vectors could reach.
double estimated_seconds(const Graph& g, const Node& n, const Target& target);

}  // namespace hone
