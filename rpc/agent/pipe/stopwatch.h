// Seconds since it was made, on the machine's monotonic clock: for what is measured, never for what is decided in
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
