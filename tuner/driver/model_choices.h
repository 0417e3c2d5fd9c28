// Which configs are faster inside a model than those that are fastest by themselves.
//
// Measured alone and again and again, a layer has its operands in the caches of the cores that want them. Inside a
// model they are where the layer before it left them, and another config may win there.
#pragma once

#include <string>
#include <vector>

namespace hone {

/// The config that a layer of an artifact was built from.
struct LayerConfig {
  std::string workload;  ///< as it is tuned: without extremes; of several steps, one
  std::string config;
  bool operator==(const LayerConfig&) const = default;
};

/// An artifact's layers, in order, and the seconds that each took inside it.
struct TimedLayers {
  std::vector<LayerConfig> layers;
  std::vector<std::vector<double>> turns;  ///< by turn, then by layer; turn i of all artifacts was side by side
};

/// A config for all layers of a workload.
struct ModelChoice {
  std::string workload;
  std::string config;
  double seconds = 0, instead_seconds = 0;  ///< a layer's, with it and with `tuned`'s; means over the layers
  bool operator==(const ModelChoice&) const = default;
};

/// By how much a config must be faster: a smaller gain is noise.
inline constexpr double kClearlyFaster = 0.05;
/// And in which share of the turns.
inline constexpr double kMostTurnsFaster = 0.75;

/// The workloads of `tuned` whose layers together take less with the config of one of `others`: in the median over the
/// turns by kClearlyFaster, and in kMostTurnsFaster of the turns; of several the fastest. In the order of the layers.
/// An artifact with other layers, or without turns, has no say.
std::vector<ModelChoice> faster_inside(const TimedLayers& tuned, const std::vector<TimedLayers>& others);

}  // namespace hone
