// The roofline of this machine: measured once, kept in the user's cache.
#pragma once

#include <vector>

#include "compiler/target/target.h"

namespace hone {

struct MachineRoof {
  double peak_gflops = 0;  ///< fp32, all threads of the target
  struct Level {
    int64_t bytes;         ///< capacity, of all threads' caches together
    double gb_per_second;  ///< at which all threads read a working set of half of it
  };
  std::vector<Level> levels;  ///< ascending by bytes

  /// Of the smallest level that holds `bytes`, or the last.
  const Level& level_of(double bytes) const;
};

/// From the cache file ($XDG_CACHE_HOME or ~/.cache, hone/roof.json, keyed by target) or measured now (about a second) and stored
/// there; measured again when the machine now does more than is stored, and each time when the file cannot be read or written. `target` must be this machine's.
MachineRoof machine_roof(const Target& target);

}  // namespace hone
