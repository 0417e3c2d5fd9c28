#include "base/time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace hone {

std::string ms_text(double seconds) {
  const double ms = seconds * 1e3;
  if (ms == 0 || !std::isfinite(ms)) return fmt::format("{:.0f}", ms);
  // The exponent is that of the rounded number: 9.996 is 10.0.
  const std::string rounded = fmt::format("{:.2e}", ms);
  const int exponent = std::atoi(rounded.c_str() + rounded.find('e') + 1);
  return fmt::format("{:.{}f}", ms, std::clamp(2 - exponent, 0, 20));
}

std::string age_text(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", std::max(0.0, seconds));
  if (seconds < 2 * 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} days", seconds / 86400);
}

}  // namespace hone
