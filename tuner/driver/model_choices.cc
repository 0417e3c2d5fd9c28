#include "tuner/driver/model_choices.h"

#include <algorithm>
#include <map>

#include "db/rows.h"

namespace hone {
namespace {

using LayersOf = std::map<std::string, std::vector<size_t>>;  // numbers of layers by workload

LayersOf layers_by_workload(const TimedLayers& t) {
  LayersOf out;
  for (size_t i = 0; i < t.layers.size(); ++i) out[t.layers[i].workload].push_back(i);
  return out;
}

bool has_same_workloads(const TimedLayers& a, const TimedLayers& b) {
  return std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    [](const LayerConfig& x, const LayerConfig& y) { return x.workload == y.workload; });
}

// By turn, the seconds of these layers together.
std::vector<double> sums(const TimedLayers& t, const std::vector<size_t>& layers) {
  std::vector<double> out;
  for (const std::vector<double>& turn : t.turns) {
    out.push_back(0);
    for (const size_t i : layers) out.back() += turn[i];
  }
  return out;
}

bool is_faster(const std::vector<double>& a, const std::vector<double>& b) {
  if (db::median_of(a) >= db::median_of(b) * (1 - kClearlyFaster)) return false;
  size_t faster = 0;
  for (size_t turn = 0; turn < a.size(); ++turn) faster += a[turn] < b[turn];
  return static_cast<double>(faster) >= kMostTurnsFaster * static_cast<double>(a.size());
}

}  // namespace

std::vector<ModelChoice> faster_inside(const TimedLayers& tuned, const std::vector<TimedLayers>& others) {
  std::vector<ModelChoice> out;
  const LayersOf workloads = layers_by_workload(tuned);
  for (size_t i = 0; i < tuned.layers.size(); ++i) {
    const std::vector<size_t>& layers = workloads.at(tuned.layers[i].workload);
    if (layers[0] != i) continue;  // it had its turn
    const std::vector<double> now = sums(tuned, layers);
    const auto count = static_cast<double>(layers.size());
    ModelChoice best{tuned.layers[i].workload, "", db::median_of(now) / count, db::median_of(now) / count};
    for (const TimedLayers& other : others) {
      if (!has_same_workloads(tuned, other) || other.turns.size() != tuned.turns.size() || other.turns.empty() ||
          other.layers[i].config == tuned.layers[i].config)
        continue;
      const std::vector<double> with = sums(other, layers);
      if (const double seconds = db::median_of(with) / count; seconds < best.seconds && is_faster(with, now))
        best.seconds = seconds, best.config = other.layers[i].config;
    }
    if (!best.config.empty()) out.push_back(std::move(best));
  }
  return out;
}

}  // namespace hone
