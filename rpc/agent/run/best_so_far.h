// The fastest candidate of a session that this device has seen. A session sends its own best with each job, but gets
// results a batch or two late: meanwhile candidates would be refined against a best that is out of date.
#pragma once

#include <algorithm>
#include <list>

#include "base/hash.h"

namespace hone::agent {

class BestSoFar {
 public:
  /// Times compare within one session, of one workload (its reference), on as many workers.
  struct Key {
    Hash128 session, reference;
    int workers = 1;
    bool operator==(const Key&) const = default;
  };

  /// Seconds of the best: `told` by the session or faster; 0 (nothing is known) stays 0.
  double at_most(const Key& key, double told) {
    const double* seen = find(key);
    return seen && told > 0 ? std::min(told, *seen) : told;
  }
  /// Records that a candidate certainly took at least this long.
  void took(const Key& key, double seconds) {
    if (double* seen = find(key)) {
      *seen = std::min(*seen, seconds);
      return;
    }
    seen_.push_front({key, seconds});
    if (seen_.size() > kKept) seen_.pop_back();
  }

 private:
  static constexpr size_t kKept = 64;
  struct Entry {
    Key key;
    double seconds;
  };
  // Moves it to the front.
  double* find(const Key& key) {
    const auto found = std::find_if(seen_.begin(), seen_.end(), [&](const Entry& e) { return e.key == key; });
    if (found == seen_.end()) return nullptr;
    seen_.splice(seen_.begin(), seen_, found);
    return &found->seconds;
  }

  std::list<Entry> seen_;  ///< most recently used first
};

}  // namespace hone::agent
