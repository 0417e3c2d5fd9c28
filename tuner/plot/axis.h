// Axes: the numbers beside them, and where values lie.
#pragma once

#include <string>
#include <vector>

namespace hone::plot {

/// From values to pixels, linear or logarithmic.
struct Axis {
  double low = 0, high = 1;  ///< values; low < high, and above 0 when logarithmic
  double from = 0, to = 1;   ///< their pixels
  bool logarithmic = false;

  /// Values beyond the ends are moved to the ends.
  double operator()(double value) const;
  /// Round values within the axis, about `most` of them at most.
  std::vector<double> ticks(size_t most) const;
};

/// `1`, `0.25`, `1,500`: short, without needless zeros.
std::string short_number(double x);

/// An axis for positive values: linear from 0, unless the interesting values span too much. `high` is the largest
/// value, `low` a value below which few lie.
Axis value_axis(double low, double high);

}  // namespace hone::plot
