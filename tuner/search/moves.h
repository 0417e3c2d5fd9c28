// Tools that searchers share: the configs that were seen, and steps from one config to another.
#pragma once

#include <optional>
#include <random>
#include <unordered_set>
#include <vector>

#include "compiler/schedule/space.h"

namespace hone {

/// A number below `n`, the same on every platform (std::uniform_int_distribution is not).
inline size_t below(std::mt19937_64& rng, size_t n) { return static_cast<size_t>(rng() % n); }
/// In [0, 1).
inline double unit(std::mt19937_64& rng) { return static_cast<double>(rng() >> 11) * 0x1.0p-53; }

struct HashIndex {
  size_t operator()(ConfigIndex i) const {
    return static_cast<size_t>(i) * 0x9e3779b97f4a7c15ULL ^ static_cast<size_t>(i >> 64);
  }
};

/// Configs proposed or reported.
class Seen {
 public:
  explicit Seen(const Space& space) : space_(space) {}
  /// True when `c` was new.
  bool add(const Config& c) { return indices_.insert(space_.index_of(c)).second; }
  bool has(const Config& c) const { return indices_.count(space_.index_of(c)) != 0; }
  size_t size() const { return indices_.size(); }

 private:
  const Space& space_;
  std::unordered_set<ConfigIndex, HashIndex> indices_;
};

/// A valid config that was not seen: drawn at random or, when draws find none, the next one at or after a random place
/// (wrapping around). Does not mark it as seen. Nothing: the space is exhausted.
std::optional<Config> random_unseen(const Space& space, const Seen& seen, std::mt19937_64& rng);

/// A copy of `from` with one or two of its active knobs changed, half of the time to a neighbouring choice; may be
/// invalid, or `from` itself in a space of one config.
Config mutate(const Space& space, const Config& from, std::mt19937_64& rng);

/// Every valid config that differs from `from` in one of its active knobs, knob by knob.
std::vector<Config> neighbours(const Space& space, const Config& from);

/// Each knob from either parent.
Config cross(const Space& space, const Config& a, const Config& b, std::mt19937_64& rng);

/// How many knobs differ.
int distance(const Config& a, const Config& b);

}  // namespace hone
