#include "tuner/session/total_course.h"

#include <algorithm>
#include <iterator>

namespace hone {
namespace {

constexpr double kWindow = 60, kLeast = 10;  // seconds

}  // namespace

void TotalCourse::add(double seconds, size_t trials, double total) { points_.push_back({seconds, trials, total}); }

std::optional<double> TotalCourse::gain_per_minute() const {
  if (points_.empty()) return std::nullopt;
  const Point& last = points_.back();
  // The first point of the latest minute.
  const auto begin =
      std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return last.seconds - p.seconds <= kWindow; });
  const double seconds = last.seconds - begin->seconds;
  if (seconds < kLeast) return std::nullopt;
  return (1 - last.total / begin->total) * 60 / seconds;
}

std::optional<double> TotalCourse::gain_of_latest(size_t trials) const {
  if (points_.empty()) return std::nullopt;
  const Point& last = points_.back();
  if (last.trials < trials + points_.front().trials) return std::nullopt;
  // The last point with all of them still to come.
  const auto after =
      std::find_if(points_.begin(), points_.end(), [&](const Point& p) { return p.trials + trials > last.trials; });
  return 1 - last.total / std::prev(after)->total;
}

}  // namespace hone
