// The distribution of a value's elements over many runs, and the range that bytes are best given to.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "compiler/quantize/ranges.h"

namespace hone {

/// How a range is chosen from the values seen.
enum class RangeMethod : uint8_t {
  kMinMax,      ///< all of it
  kPercentile,  ///< all but 0.005% at each end: single elements far out cost the others no steps
  kEntropy,     ///< the least loss of information as bytes (Kullback-Leibler divergence of the magnitudes)
};
/// `min-max`, `percentile`, `entropy`. UserError, one line, for others.
RangeMethod range_method(std::string_view text);

/// Counts elements in equal bins around zero, which grow by pairs where an element lies outside.
class Histogram {
 public:
  /// UserError for an element that is not finite.
  void add(std::span<const double> values);
  int64_t count() const { return count_; }
  Range range(RangeMethod method) const;

 private:
  static constexpr size_t kBins = 4096;  // half of them below zero

  void widen();
  double edge(size_t bin) const { return (static_cast<double>(bin) / (kBins / 2) - 1) * limit_; }
  Range percentile() const;
  double entropy_threshold() const;

  std::array<int64_t, kBins> bins_{};
  double limit_ = 0;  // they reach from -limit_ to limit_; 0: nothing but zeros was seen
  Range seen_;
  int64_t count_ = 0;
};

}  // namespace hone
