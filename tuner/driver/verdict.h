// How many times as fast one artifact is as another, and how sure that is.
#pragma once

#include <string>
#include <vector>

namespace hone {

/// A ratio of two times, and the interval that it lies in with some 99%.
struct Ratio {
  double ratio = 0;  ///< 0: not measured
  double low = 0, high = 0;

  bool is_known() const { return ratio > 0; }
  /// Whether even the least (the most) that it may be is above (below) 1.
  bool is_faster() const { return low > 1; }
  bool is_slower() const { return is_known() && high < 1; }
  /// Nothing that helps: the interval has 1 in it, and is wide.
  bool is_unclear() const { return is_known() && low <= 1 && high >= 1 && high > kWide * low; }
  /// Narrow enough for more turns to be of no use.
  bool is_narrow() const { return is_known() && high < kNarrow * low; }

  static constexpr double kWide = 1.1, kNarrow = 1.015;
};

/// The median over the turns of numerators[i] / denominators[i], which were measured side by side, in an interval
/// of the sign test: disturbed turns move its ends, and no single one decides. Not known for fewer than seven
/// turns.
Ratio ratio_of_turns(const std::vector<double>& numerators, const std::vector<double>& denominators);

/// `1.08x (1.04 to 1.12)`, or `cannot tell: the times varied too much (0.80x to 1.31x)`.
std::string to_string(const Ratio& r);

}  // namespace hone
