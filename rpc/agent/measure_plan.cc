#include "rpc/agent/measure_plan.h"

#include <algorithm>

namespace hone::agent {
namespace {

// A call this long is not much slower for being the first: page faults and cold caches cost less than 5% of it.
constexpr double kLongCall = 20e-3;
// Checks, warm-up and every repeat of a candidate as fast as the best take less than 20 of its calls once calls are longer than a
// repeat; one 3 times slower is stopped after 3 calls.
constexpr double kDeadlineCalls = 50;

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double run_deadline(const wire::MeasureProfile& p) { return std::max(p.run_timeout_s, kDeadlineCalls * p.best_seconds); }

MeasurePlan::MeasurePlan(const wire::MeasureProfile& profile, double first_call_seconds, bool interleaved)
    : profile_(profile), interleaved_(interleaved), call_seconds_(first_call_seconds), warmups_left_(profile.warmup) {
  const double limit = profile_.censor_factor * profile_.best_seconds;
  if (!interleaved_ && limit > 0 && first_call_seconds > std::max(limit, kLongCall)) warmups_left_ = 0;  // the one repeat will censor it
}

bool MeasurePlan::refines() const {
  return !interleaved_ && profile_.best_seconds > 0 && times_.size() >= profile_.repeats &&
         median({times_.begin(), times_.begin() + profile_.repeats}) <= profile_.refine_factor * profile_.best_seconds;
}

std::optional<MeasurePlan::Step> MeasurePlan::next(double seconds_left) {
  if (censored_) return std::nullopt;
  if (warmups_left_ > 0 && (times_.empty() && 2 * call_seconds_ < seconds_left)) {
    --warmups_left_;
    warming_ = true;
    return Step{false, 0};
  }
  warming_ = false;
  Step step;
  if (times_.size() < std::max(profile_.repeats, 1u)) {
    step.min_seconds = profile_.min_repeat_ms * 1e-3;
  } else if (refines() && times_.size() < profile_.repeats + profile_.refine_repeats) {
    step.min_seconds = profile_.refine_repeat_ms * 1e-3;
  } else {
    return std::nullopt;
  }
  if (!times_.empty() && step.min_seconds + call_seconds_ > seconds_left) return std::nullopt;
  return step;
}

void MeasurePlan::took(double seconds_per_call) {
  call_seconds_ = seconds_per_call;
  if (warming_) return;
  times_.push_back(seconds_per_call);
  const double limit = profile_.censor_factor * profile_.best_seconds;
  if (!interleaved_ && times_.size() == 1 && limit > 0 && seconds_per_call > limit) censored_ = true;
}

}  // namespace hone::agent
