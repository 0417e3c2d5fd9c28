#include "rpc/agent/run/measure_plan.h"

#include <algorithm>
#include <cmath>

#include "rpc/agent/pipe/protocol.h"

namespace hone::agent {
namespace {

// Calls shorter than this are warm-up until it has passed: after a single call the first repeat was 8% slower than
// later ones.
constexpr double kWarmSeconds = 1e-3;
// A call this long is not much slower for being the first: page faults and cold caches cost less than 10% of it.
constexpr double kLongCall = 5e-3;
// A candidate as fast as the best takes less than 20 of its calls for check, warm-up and every repeat, once calls are
// longer than a repeat; one that is 3 times slower is stopped after 3 calls.
constexpr double kDeadlineCalls = 50;
// Repeats disagree when their median is this much slower than the fastest of them: disturbances only ever slow down.
// Such a candidate gets a few more repeats; their median is right while fewer than half are disturbed.
constexpr double kDisagree = 1.1;
constexpr uint32_t kMoreRepeats = 4;
// If the true median were no slower than the best, half of the repeats would be no slower either: this few of them, out
// of this many, happens by chance with less than this probability (none of 5, one of 8, two of 11). The margin covers a
// disturbance of all of them, such as a clock that is lower for a moment. A candidate this close to the best is among
// the finalists anyway, and those are measured side by side.
constexpr double kChance = 0.036;
constexpr double kSureMargin = 1.01;
// Undisturbed repeats differ by 3%: where the fastest of four is slower than the best by more than that, a fifth would
// not change the verdict.
constexpr double kClearMargin = 1.04;
constexpr size_t kClearRepeats = 4;
// A single repeat slightly beyond the limit may be an accident, and a wrong lower bound is worse than a slow time:
// where another repeat costs little, the plan asks for it before it stops the candidate.
constexpr double kSecondOpinion = 3, kSecondOpinionSeconds = 10e-3;
constexpr int kDisturbedInARow = 3;

double fastest(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double run_deadline(const wire::MeasureProfile& p) {
  return std::max(p.run_timeout_s, kDeadlineCalls * p.best_seconds);
}

double RunRequest::deadline() const { return std::min(run_deadline(profile), most_seconds); }

MeasurePlan::MeasurePlan(const wire::MeasureProfile& profile, double first_call_seconds, bool interleaved)
    : profile_(profile), interleaved_(interleaved), call_seconds_(first_call_seconds), warmups_left_(profile.warmup) {
  const double limit = profile_.censor_factor * profile_.best_seconds;
  // The one repeat will be a lower bound (censored).
  if (!interleaved_ && limit > 0 && first_call_seconds > std::max(2 * limit, kLongCall)) warmups_left_ = 0;
}

uint32_t MeasurePlan::screening() const { return std::max(profile_.repeats, 1u); }

bool MeasurePlan::refines() const {
  return !interleaved_ && profile_.best_seconds > 0 && times_.size() >= screening() &&
         median({times_.begin(), times_.begin() + screening()}) <= profile_.refine_factor * profile_.best_seconds;
}

// Whether the lower bound of the median's confidence interval is slower than the best.
bool MeasurePlan::surely_slower() const {
  if (times_.size() >= kClearRepeats && fastest(times_) > kClearMargin * profile_.best_seconds) return true;
  const auto fast =
      std::count_if(times_.begin(), times_.end(), [&](double t) { return t <= kSureMargin * profile_.best_seconds; });
  double ways = 0, ways_of_i = 1;
  const double n = static_cast<double>(times_.size());
  for (int i = 0; i <= fast; ++i) {
    ways += ways_of_i;
    ways_of_i *= (n - i) / (i + 1);
  }
  return ways < kChance * std::exp2(n);
}

bool MeasurePlan::disagree() const { return !interleaved_ && median(times_) > kDisagree * fastest(times_); }

// The length of the next repeat; nothing when there are enough.
std::optional<double> MeasurePlan::wanted() const {
  if (times_.size() < screening()) return profile_.min_repeat_ms * 1e-3;
  if (refines()) {
    if (times_.size() < screening() + profile_.refine_repeats && !surely_slower())
      return profile_.refine_repeat_ms * 1e-3;
  } else if (times_.size() < screening() + kMoreRepeats && disagree()) {
    return profile_.min_repeat_ms * 1e-3;
  }
  return std::nullopt;
}

// Disturbed repeats are taken again, up to a limit: the session must go on where the machine is never quiet.
bool MeasurePlan::may_retry() const {
  const size_t repeats = screening() + (refines() ? profile_.refine_repeats : 0);
  const double seconds = 0.2 + 2e-3 * profile_.min_repeat_ms * static_cast<double>(repeats);
  return disturbed_.size() < 6 + 2 * repeats && disturbed_seconds_ < seconds;
}

void MeasurePlan::give_up() {
  over_ = true;
  // Half of the repeats suffices in interleaved measurements, and screening is all that most candidates get.
  const size_t enough = interleaved_ ? (screening() + 1) / 2 : screening();
  if (times_.size() >= enough || disturbed_.empty()) return;
  drifted_ = true;
  std::sort(disturbed_.begin(), disturbed_.end());
  const size_t missing = std::min(disturbed_.size(), screening() - times_.size());
  times_.insert(times_.end(), disturbed_.begin(), disturbed_.begin() + static_cast<std::ptrdiff_t>(missing));
}

std::optional<MeasurePlan::Step> MeasurePlan::next(double seconds_left) {
  if (over_) return std::nullopt;
  if (warmups_left_ > 0 && times_.empty() && 2 * call_seconds_ < seconds_left) {
    --warmups_left_;
    return step_ = {Kind::kWarmup, kWarmSeconds};
  }
  const std::optional<double> seconds = wanted();
  const bool any = !times_.empty() || !disturbed_.empty();
  if (!seconds || !may_retry() || (any && *seconds + call_seconds_ > seconds_left)) {
    if (seconds) give_up();
    over_ = true;
    return std::nullopt;
  }
  if (in_a_row_ >= kDisturbedInARow) {
    in_a_row_ = 0;
    return step_ = {Kind::kWait, 0};
  }
  return step_ = {Kind::kRepeat, *seconds};
}

void MeasurePlan::took(const Taken& taken) {
  call_seconds_ = taken.seconds;
  if (step_.kind == Kind::kWarmup) return;
  const double limit = profile_.censor_factor * profile_.best_seconds;
  const double least = taken.disturbed ? taken.least : taken.seconds;
  if (!interleaved_ && times_.empty() && limit > 0 && least > limit) {
    // Even with its waiting taken off it is slower than in quiet: other processes used the caches.
    suspect_disturbed_ |= taken.disturbed;
    if (suspect_ == 0 && least < std::min(kSecondOpinion * limit, kSecondOpinionSeconds)) {
      suspect_ = least;
      return;
    }
    censored_ = over_ = true;
    drifted_ = suspect_disturbed_;
    times_.push_back(suspect_ > 0 ? std::min(suspect_, least) : least);
  } else if (taken.disturbed) {
    disturbed_.push_back(taken.seconds);
    disturbed_seconds_ += std::max(taken.seconds, step_.min_seconds);
    ++in_a_row_;
  } else {
    times_.push_back(taken.seconds);
    in_a_row_ = 0;
  }
}

}  // namespace hone::agent
