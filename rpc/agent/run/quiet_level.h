// How long the sentinel takes on this machine when no other process or guest uses it, learned from its readings; and a
// budget for waiting until it does.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace hone::agent {

/// A reading has one entry a core, in seconds. The quiet level of a core is a low quantile of its last readings: a
/// machine has to be disturbed most of the time to raise it, and a lasting change (heat, another clock) becomes the new
/// quiet level after a while.
class QuietLevel {
 public:
  /// Takes one reading into account. True when no core was slower than quiet; also while there are too few readings to
  /// tell.
  bool add(const std::vector<double>& reading);
  /// The quiet level of the core at `index`, in seconds; 0 before its first reading.
  double of(size_t index) const { return index < cores_.size() ? cores_[index].level : 0; }

 private:
  struct Core {
    std::vector<double> recent;  ///< a ring
    size_t next = 0, since_sorted = 0;
    double level = 0;
  };
  static void take(Core& core, double seconds);
  std::vector<Core> cores_;
};

/// The quiet levels of readings of any number of cores: each core may be slower when all of them work.
class QuietLevels {
 public:
  /// True when no core was slower than quiet, nor its unit of tiles; `tiles`: empty where that was not read.
  bool add(const std::vector<double>& cores, const std::vector<double>& tiles);

 private:
  std::map<size_t, QuietLevel> cores_, tiles_;  ///< by the number of cores
};

/// The budget for waiting until a machine becomes quiet: a second at first, then a tenth of the time spent timing
/// since. Waits that end well are charged too: a machine that flickers, or is never quiet, loses a tenth of its time,
/// no more.
class WaitBudget {
 public:
  double seconds() const { return seconds_; }
  /// This much time was spent timing.
  void earn(double timed_seconds);
  void spend(double waited_seconds);

  static constexpr double kLongest = 1, kShare = 0.1;

 private:
  double seconds_ = kLongest;
};

}  // namespace hone::agent
