// The fastest candidate of a session that this device has seen. A session sends its own best with each job, but gets
// results a batch or two late: meanwhile candidates would be refined against a best that is out of date.
#pragma once

#include <algorithm>

#include "base/hash.h"
#include "base/lru.h"

namespace hone::agent {

class BestSoFar {
 public:
  /// Times compare within one session, of one workload (its reference), on as many workers.
  struct Key {
    Hash128 session, reference;
    int workers = 1;
    auto operator<=>(const Key&) const = default;
  };

  /// Seconds of the best: `told` by the session or faster; 0 (nothing is known) stays 0.
  double at_most(const Key& key, double told) {
    const double* seen = seen_.find(key);
    return seen && told > 0 ? std::min(told, *seen) : told;
  }
  /// Records that a candidate certainly took at least this long.
  void took(const Key& key, double seconds) {
    if (double* seen = seen_.find(key)) {
      *seen = std::min(*seen, seconds);
      return;
    }
    seen_.put(key, seconds);
    seen_.drop_beyond(kKept);
  }

 private:
  static constexpr size_t kKept = 64;
  Lru<Key, double> seen_;
};

}  // namespace hone::agent
