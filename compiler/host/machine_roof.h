// The roofline of this machine: measured once, kept in the user's cache.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compiler/target/target.h"

namespace hone {

struct MachineRoof {
  double peak_gflops = 0;  ///< fp32, all threads of the target
  struct Level {
    int64_t bytes;         ///< capacity, of all threads' caches together
    double gb_per_second;  ///< at which all threads read a working set of half the capacity
  };
  std::vector<Level> levels;  ///< ascending by bytes

  /// The bandwidth of the smallest level that holds `bytes`, or of the last.
  const Level& level_of(double bytes) const;
};

/// The higher of the two, figure by figure.
MachineRoof best_of(const MachineRoof& a, const MachineRoof& b);

/// How a roof is measured; parameters, so that tests have machines of their own.
struct RoofMeasures {
  std::function<MachineRoof()> roof;  ///< measures once
  std::function<double()> peak;       ///< measures the peak alone, once; quick
  /// Between two tries, so that a neighbour that comes and goes does not spoil them all.
  std::function<void()> pause;
};

/// Roofs in a file, each the best of several tries: other work on the machine only lowers one.
class RoofCache {
 public:
  RoofCache(std::filesystem::path file, RoofMeasures measures)
      : file_(std::move(file)), measures_(std::move(measures)) {}
  /// The roof that the file has for `key`, else one measured now and stored there. Measured again when the machine now
  /// does more.
  MachineRoof roof(const std::string& key) const;
  /// A kernel did more than `known` allows: measures again and stores the better of the two.
  MachineRoof beaten(const std::string& key, const MachineRoof& known) const;

  static constexpr int kTries = 3;

 private:
  MachineRoof measure_and_store(const std::string& key, MachineRoof known) const;
  const std::filesystem::path file_;
  const RoofMeasures measures_;
};

/// The roof of this machine, which `target` must be: in $XDG_CACHE_HOME or ~/.cache, hone/roof.json, by target; a few
/// seconds where it is measured, each time when the file cannot be read or written.
MachineRoof machine_roof(const Target& target);
/// RoofCache::beaten() for this machine's roof.
MachineRoof beaten_roof(const Target& target, const MachineRoof& known);

}  // namespace hone
