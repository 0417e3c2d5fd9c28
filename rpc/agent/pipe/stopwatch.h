// Seconds since it was made, on the machine's monotonic clock: for measured times, never for decisions in
// tests.
#pragma once

#include "base/clock.h"

namespace hone::agent {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(SteadyClock().now() - start_).count(); }

 private:
  const Clock::TimePoint start_ = SteadyClock().now();
};

}  // namespace hone::agent
