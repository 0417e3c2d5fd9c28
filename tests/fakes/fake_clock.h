// A clock that moves only when a test moves it.
#pragma once

#include <atomic>

#include "base/clock.h"

namespace hone {

class FakeClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(Duration(nanoseconds_.load())); }
  void advance(Duration by) { nanoseconds_ += by.count(); }

 private:
  std::atomic<int64_t> nanoseconds_{1'000'000'000};
};

}  // namespace hone
