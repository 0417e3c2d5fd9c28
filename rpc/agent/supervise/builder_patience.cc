#include "rpc/agent/supervise/builder_patience.h"

#include <algorithm>

namespace hone::agent {
namespace {

constexpr size_t kRemembered = 32;  // waits

Clock::Duration seconds(double s) {
  return std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(s));
}

}  // namespace

Clock::TimePoint BuilderPatience::until(Clock::TimePoint asked, double limit_s) const {
  const auto longest = std::max_element(waits_.begin(), waits_.end());
  const Clock::Duration wait =
      longest == waits_.end() ? seconds(limits_.first) : std::max(2 * *longest, seconds(limits_.least));
  return std::min(begin(asked) + wait, asked + seconds(limit_s + limits_.most));
}

void BuilderPatience::answered(Clock::TimePoint asked, Clock::TimePoint now) {
  took(now - begin(asked));
  heard_ = now;
}

void BuilderPatience::in_vain(Clock::TimePoint asked, Clock::TimePoint now) {
  took(now - begin(asked));
  silent_until_ = now + seconds(limits_.pause);
}

void BuilderPatience::took(Clock::Duration wait) {
  waits_.push_back(wait);
  if (waits_.size() > kRemembered) waits_.pop_front();
}

}  // namespace hone::agent
