#include "compiler/model/layer_costs.h"

#include <algorithm>
#include <map>
#include <string>

#include "compiler/ops/workload.h"

namespace hone {
namespace {

constexpr double kBytesPerSecond = 60e9, kClock = 4e9;

// What was measured of a workload: one of them.
struct Known {
  std::optional<double> divided, alone;
};

}  // namespace

double estimated_seconds(const Graph& g, const Node& n, const Target& target) {
  double bytes = 0;
  for (const auto* values : {&n.inputs, &n.outputs})
    for (const ValueId v : *values) bytes += static_cast<double>(bytes_of(g.value(v).type));
  // Half of two multiply-adds of a vector a cycle.
  const double flops_per_second = 2 * static_cast<double>(target.lanes(32)) * kClock;
  return std::max(flops(n.workload) / flops_per_second, bytes / kBytesPerSecond);
}

LayerCosts::LayerCosts(const Graph& g, const Layers& layers, TaskTable& tasks, const Target& target,
                       const MeasuredLayer& measured) {
  Target one = target;
  one.threads = 1;
  std::map<std::string, Known> known;
  for (size_t c = 0; c < layers.calls.size(); ++c) {
    const Node& n = g.nodes[static_cast<size_t>(layers.calls[c].node)];
    Known k;
    if (measured) {
      const auto [it, added] = known.try_emplace(to_string(n.workload));
      if (added) {
        it->second.divided = measured(n.workload, target);
        if (!it->second.divided) it->second.alone = measured(n.workload, one);
      }
      k = it->second;
    }
    const Tasks& t = tasks.of(c);
    const int64_t each = (t.iterations - 1) / target.threads + 1;
    const double share = static_cast<double>(each) / static_cast<double>(t.iterations),
                 starts = static_cast<double>(std::max<int64_t>(1, t.regions)) * kRegionSeconds;
    const double estimate = estimated_seconds(g, n, target);
    double alone = k.alone.value_or(estimate);
    // Of a layer that takes hardly longer than its regions' starts, the rest says little: the estimate is its least.
    if (k.divided)
      alone = t.iterations == 1 ? *k.divided
                                : std::max(*k.divided - starts, std::min(*k.divided / 2, estimate * share)) / share;
    alone_.push_back(alone);
    divided_.push_back(t.iterations == 1 ? alone : k.divided.value_or(alone * share + starts));
  }
}

}  // namespace hone
