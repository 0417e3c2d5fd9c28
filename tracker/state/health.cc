#include "tracker/state/health.h"

#include <algorithm>

namespace hone::tracker {
namespace {

constexpr size_t kMaxStrikes = 64;  // remembered, so that they can be withdrawn
constexpr double kSlow = 1.25;      // times the quiet level
constexpr int kSlowReadings = 8;    // in favour of a change, before slow() changes
// The quiet level follows faster readings at once and slower ones hardly: a low quantile.
constexpr double kDown = 0.2, kUp = 0.002;
constexpr uint32_t kGoodToForget = 64;  // good answers after which earlier quarantines do not count any more

}  // namespace

void Health::strike(const JobKey& job) {
  if (strikes_.size() < kMaxStrikes) strikes_.push_back(job);
}

bool Health::withdraw_strike(const JobKey& job) {
  const auto it = std::find(strikes_.begin(), strikes_.end(), job);
  if (it == strikes_.end()) return false;
  strikes_.erase(it);
  return true;
}

void Health::went_well() {
  failures_ = 0;
  if (quarantines_ > 0 && ++good_since_ >= kGoodToForget) quarantines_ = 0;
}

bool Health::failed(const wire::Uuid& session, uint64_t session_ok, const Limits& limits) {
  // Another session, or the same one counted anew.
  if (failures_ == 0 || failing_session_ != session || session_ok < others_ok_) {
    failures_ = 0;
    failing_session_ = session;
    others_ok_ = session_ok;
  }
  return ++failures_ >= limits.failures && session_ok - others_ok_ >= limits.failures / 2;
}

void Health::start_afresh() {
  strikes_.clear();
  failures_ = 0;
}

bool Health::sentinel(double seconds) {
  sentinel_ = seconds;
  if (quiet_ == 0) quiet_ = seconds;
  const bool high = seconds > kSlow * quiet_;
  quiet_ += (seconds < quiet_ ? kDown : kUp) * (seconds - quiet_);
  slow_run_ = std::clamp(slow_run_ + (high ? 1 : -1), 0, kSlowReadings);
  const bool was = slow_;
  if (slow_run_ == kSlowReadings) slow_ = true;
  if (slow_run_ == 0) slow_ = false;
  return slow_ != was;
}

void Health::quarantined(Clock::TimePoint now, const Limits& limits) {
  Clock::Duration wait = limits.first_wait;
  for (uint32_t i = 0; i < quarantines_ && wait < limits.most_wait; ++i) wait *= 2;
  wait_until_ = now + std::min<Clock::Duration>(wait, limits.most_wait);
  ++quarantines_;
  good_since_ = 0;
}

void Health::begin_probation() {
  start_afresh();
  probation_good_ = probation_bad_ = 0;
}

Health::Probation Health::answered_on_probation(bool good, const Limits& limits) {
  if (good) {
    probation_bad_ = 0;
    return ++probation_good_ >= limits.good ? Probation::kPassed : Probation::kGoesOn;
  }
  return ++probation_bad_ >= limits.bad ? Probation::kFailed : Probation::kGoesOn;
}

void Health::forgive() {
  start_afresh();
  quarantines_ = good_since_ = 0;
}

}  // namespace hone::tracker
