#include "tracker/state/summary_ring.h"

#include <algorithm>

namespace hone::tracker {

void SummaryRing::add(const wire::CurvePoint& point) {
  if (!points_.empty() && points_.back().trials == point.trials && points_.back().best_gflops == point.best_gflops &&
      points_.size() > 1)
    points_.pop_back();
  if (points_.size() >= kMost) points_ = sampled(kMost / 2);
  points_.push_back(point);
}

std::vector<wire::CurvePoint> SummaryRing::sampled(size_t most) const {
  if (points_.size() <= most) return points_;
  const auto best = std::max_element(points_.begin(), points_.end(),
                                     [](const auto& a, const auto& b) { return a.best_gflops < b.best_gflops; });
  const auto best_at = static_cast<size_t>(best - points_.begin());
  std::vector<size_t> chosen;
  for (size_t i = 0; i < most; ++i) chosen.push_back(i * (points_.size() - 1) / (most - 1));
  // In place of the one before it, unless that is the first.
  const auto after = std::lower_bound(chosen.begin(), chosen.end(), best_at);
  if (*after != best_at) {
    if (after - 1 == chosen.begin() && after + 1 != chosen.end())
      *after = best_at;
    else if (after - 1 != chosen.begin())
      *(after - 1) = best_at;
  }
  std::vector<wire::CurvePoint> out;
  for (const size_t i : chosen) out.push_back(points_[i]);
  return out;
}

}  // namespace hone::tracker
