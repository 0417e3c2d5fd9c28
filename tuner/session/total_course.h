// How the weighted time of all tasks fell during a session: how fast it still falls, and whether that has ended.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace hone {

class TotalCourse {
 public:
  /// The weighted total after `trials` trials, `seconds` after the session began. Times and trials only grow.
  void add(double seconds, size_t trials, double total);

  /// The share of the total that went per minute, over the latest minute; nothing before ten seconds are known.
  std::optional<double> gain_per_minute() const;
  /// The share of the total that the latest `trials` trials saved together; nothing when there were fewer.
  std::optional<double> gain_of_latest(size_t trials) const;

 private:
  struct Point {
    double seconds = 0;
    size_t trials = 0;
    double total = 0;
  };
  std::vector<Point> points_;
};

}  // namespace hone
