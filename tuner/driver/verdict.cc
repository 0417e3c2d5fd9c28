#include "tuner/driver/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone {
namespace {

// Two-sided: of a hundred intervals one may miss.
constexpr double kMissed = 0.01;
// Where code and data of an artifact happen to lie decides this much, however many turns there are.
constexpr double kPlacement = 0.005;

// How many of the lowest, and of the highest, of n values may be left out: the most k for which fewer than k heads in n
// throws of a coin are as rare as kMissed / 2.
size_t left_out(size_t n) {
  double chance = std::ldexp(1.0, -static_cast<int>(n)), sum = 0;
  size_t k = 0;
  while (k < n / 2) {
    sum += chance;
    if (sum > kMissed / 2) break;
    chance *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

}  // namespace

Ratio ratio_of_turns(const std::vector<double>& numerators, const std::vector<double>& denominators) {
  constexpr size_t kLeastTurns = 7;  // the least and the most of fewer hold the ratio too seldom
  if (numerators.size() < kLeastTurns) return {};
  std::vector<double> ratios;
  for (size_t i = 0; i < numerators.size(); ++i) ratios.push_back(numerators[i] / denominators[i]);
  std::sort(ratios.begin(), ratios.end());
  const size_t n = ratios.size(), k = left_out(n), at = k > 0 ? k - 1 : 0;
  const double middle = n % 2 ? ratios[n / 2] : std::sqrt(ratios[n / 2 - 1] * ratios[n / 2]);
  return {middle, ratios[at] * (1 - kPlacement), ratios[n - 1 - at] * (1 + kPlacement)};
}

std::string to_string(const Ratio& r) {
  if (r.is_unclear()) return fmt::format("cannot tell: the times varied too much ({:.2f}x to {:.2f}x)", r.low, r.high);
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", r.ratio, r.low, r.high);
}

}  // namespace hone
