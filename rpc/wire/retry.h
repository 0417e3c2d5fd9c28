// When to try again: exponential backoff with jitter; seed and clock are the caller's.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include "base/clock.h"

namespace hone::wire {

struct BackoffOptions {
  std::chrono::milliseconds first{100};
  std::chrono::milliseconds most{5000};
  double factor = 1.6;
  double jitter = 0.3;                      ///< a delay is drawn from [1 - jitter, 1 + jitter] times the nominal one
  std::chrono::milliseconds healthy{2000};  ///< a connection that lasted this long starts the delays anew
};

class Backoff {
 public:
  Backoff(BackoffOptions options, uint64_t seed, const Clock& clock)
      : options_(options), random_(seed), clock_(clock) {}

  /// A connection was established now.
  void connected() { connected_at_ = clock_.now(), is_connected_ = true; }

  /// An attempt failed or a connection ended: the delay before the next attempt.
  std::chrono::milliseconds next() {
    if (is_connected_ && clock_.now() - connected_at_ >= options_.healthy) nominal_ms_ = 0;
    is_connected_ = false;
    nominal_ms_ = nominal_ms_ == 0
                      ? static_cast<double>(options_.first.count())
                      : std::min(nominal_ms_ * options_.factor, static_cast<double>(options_.most.count()));
    std::uniform_real_distribution<double> scale(1 - options_.jitter, 1 + options_.jitter);
    return std::chrono::milliseconds(static_cast<int64_t>(nominal_ms_ * scale(random_)));
  }

 private:
  BackoffOptions options_;
  std::mt19937_64 random_;
  const Clock& clock_;
  double nominal_ms_ = 0;
  bool is_connected_ = false;
  Clock::TimePoint connected_at_{};
};

}  // namespace hone::wire
