// How long a board waits for its builders, by the time that they took so far.
#pragma once

#include <algorithm>
#include <deque>

#include "base/clock.h"

namespace hone::agent {

/// A wait begins when a build is asked for, and again with each answer: a builder that works off a queue is not silent.
/// It ends after twice the longest of the latest waits. Then no builder is asked for a minute, and a wait that was in
/// vain counts as one that took so long, so that an honest builder that became slow is given more time the next time.
class BuilderPatience {
 public:
  /// Seconds. `first`: of a wait before anything is known, with the start of processes in it. `least`: of the others.
  /// `most`: beyond a build's own limit, from when it was asked for. `pause`: how long no builder is asked.
  struct Limits {
    double first = 15, least = 5, most = 30, pause = 60;
  };

  explicit BuilderPatience(const Limits& limits) : limits_(limits) {}

  /// Whether to ask at all.
  bool asks(Clock::TimePoint now) const { return now >= silent_until_; }
  /// Until when to wait for a build of at most `limit_s` that was asked for at `asked`, as it stands now.
  Clock::TimePoint until(Clock::TimePoint asked, double limit_s) const;
  /// A build that was asked for at `asked` was answered.
  void answered(Clock::TimePoint asked, Clock::TimePoint now);
  /// One was waited for until now, in vain.
  void in_vain(Clock::TimePoint asked, Clock::TimePoint now);

 private:
  Clock::TimePoint begin(Clock::TimePoint asked) const { return std::max(asked, heard_); }
  void took(Clock::Duration wait);

  const Limits limits_;
  std::deque<Clock::Duration> waits_;  // the latest
  Clock::TimePoint heard_{}, silent_until_{};
};

}  // namespace hone::agent
