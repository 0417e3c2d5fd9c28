#include "tuner/driver/time_plan.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace hone {
namespace {

// Shares of the time that is left when the search begins.
constexpr double kConfirming = 0.15, kAlternatives = 0.08, kMostOfWhole = 0.4;
constexpr double kMostConfirming = 20;
// Fewer seconds than these for alternatives find nothing.
constexpr double kLeastAlternatives = 4;
// The end builds the model with default, with tuned and with chosen configs, as it was, and times them.
constexpr double kBuilds = 5, kTiming = 3;

}  // namespace

void TimePlan::share(bool is_model, double build_seconds) {
  const double there = left();
  if (!is_limited()) return;
  whole_ = build_seconds > 0 ? std::min(kMostOfWhole * there, kBuilds * build_seconds + kTiming) : 0;
  confirming_ = std::min(kMostConfirming, kConfirming * there);
  alternatives_ = is_model && kAlternatives * there >= kLeastAlternatives ? kAlternatives * there : 0;
}

double TimePlan::elapsed() const { return std::chrono::duration<double>(clock_.now() - start_).count(); }

double TimePlan::left_of(double reserved) const {
  if (!is_limited()) return std::numeric_limits<double>::infinity();
  return std::max(0.0, all_ - elapsed() - reserved);
}

}  // namespace hone
