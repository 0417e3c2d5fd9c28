#include "compiler/quantize/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/check.h"

namespace hone {

RangeMethod range_method(std::string_view text) {
  if (text == "min-max") return RangeMethod::kMinMax;
  if (text == "percentile") return RangeMethod::kPercentile;
  HONE_USER_CHECK(text == "entropy") << "--range " << text << ": there are min-max, percentile, entropy";
  return RangeMethod::kEntropy;
}

void Histogram::add(std::span<const double> values) {
  for (const double v : values) {
    HONE_USER_CHECK(std::isfinite(v)) << "an element is " << v;
    if (count_++ == 0) seen_ = {v, v};
    seen_ = {std::min(seen_.least, v), std::max(seen_.most, v)};
    if (limit_ == 0 && v != 0) {
      limit_ = std::ldexp(1, std::ilogb(v) + 1);
      bins_[kBins / 2] = count_ - 1;  // the zeros so far
    }
    while (std::abs(v) >= limit_ && v != 0) widen();
    const double position = limit_ == 0 ? kBins / 2 : (v / limit_ + 1) * (kBins / 2);
    if (limit_ != 0) ++bins_[std::min(static_cast<size_t>(position), kBins - 1)];
  }
}

void Histogram::widen() {
  std::array<int64_t, kBins> wide{};
  for (size_t b = 0; b < kBins; ++b) wide[kBins / 4 + b / 2] += bins_[b];
  bins_ = wide;
  limit_ *= 2;
}

Range Histogram::percentile() const {
  constexpr double kLeftOut = 5e-5;  // at each end
  const auto most_left_out = static_cast<int64_t>(kLeftOut * static_cast<double>(count_));
  Range out = seen_;
  int64_t below = 0, above = 0;
  for (size_t b = 0; b < kBins && (below += bins_[b]) <= most_left_out; ++b) out.least = edge(b + 1);
  for (size_t b = kBins; b-- > 0 && (above += bins_[b]) <= most_left_out;) out.most = edge(b);
  return {std::clamp(out.least, seen_.least, seen_.most), std::clamp(out.most, seen_.least, seen_.most)};
}

// The threshold for magnitudes whose clipped distribution differs least from its quantised form in bytes. The method is
// that of S. Migacz, 8-bit inference with TensorRT, GTC 2017.
double Histogram::entropy_threshold() const {
  constexpr size_t kMagnitudes = kBins / 2;
  std::vector<double> counts(kMagnitudes);
  for (size_t m = 0; m < kMagnitudes; ++m)
    counts[m] = static_cast<double>(bins_[kMagnitudes + m] + bins_[kMagnitudes - 1 - m]);
  // Zeros are exact in any steps, and would hide the loss of other values.
  counts[0] = counts[1];
  const size_t levels = seen_.least < 0 && seen_.most > 0 ? 128 : 255;
  double best = std::numeric_limits<double>::infinity(), threshold = limit_;
  for (size_t kept = levels; kept <= kMagnitudes; kept += 8) {
    double clipped = 0, all = 0;
    for (size_t m = 0; m < kMagnitudes; ++m) (m < kept ? all : clipped) += counts[m];
    if (all == 0) continue;
    double divergence = 0;
    for (size_t level = 0; level < levels; ++level) {
      const size_t begin = level * kept / levels, end = (level + 1) * kept / levels;
      double sum = 0, filled = 0;
      for (size_t m = begin; m < end; ++m) sum += counts[m], filled += counts[m] > 0 ? 1 : 0;
      for (size_t m = begin; m < end; ++m) {
        constexpr double kNothing = 1e-9;  // of a level that has only clipped values
        const double p = (counts[m] + (m + 1 == kept ? clipped : 0)) / (all + clipped),
                     q = filled > 0 ? sum / filled / all : kNothing;
        if (p > 0) divergence += p * std::log(p / q);
      }
    }
    if (divergence < best) best = divergence, threshold = limit_ * static_cast<double>(kept) / kMagnitudes;
  }
  return threshold;
}

Range Histogram::range(RangeMethod method) const {
  if (count_ == 0 || limit_ == 0 || method == RangeMethod::kMinMax) return seen_;
  if (method == RangeMethod::kPercentile) return percentile();
  const double threshold = entropy_threshold();
  return {std::max(seen_.least, -threshold), std::min(seen_.most, threshold)};
}

}  // namespace hone
