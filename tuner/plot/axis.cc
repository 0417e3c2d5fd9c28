#include "tuner/plot/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hone::plot {
namespace {

// Where a tenth of the values would lie within a thirtieth of a linear axis, most of the picture would be empty.
constexpr double kLinearSpan = 30;

}  // namespace

double Axis::operator()(double value) const {
  const double v = std::clamp(value, low, high);
  const double share = logarithmic ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low);
  return from + share * (to - from);
}

std::vector<double> Axis::ticks(size_t most) const {
  std::vector<double> out;
  if (logarithmic) {
    for (const std::vector<double>& marks : {std::vector<double>{1, 2, 5}, std::vector<double>{1}}) {
      out.clear();
      for (int e = static_cast<int>(std::floor(std::log10(low))); e <= static_cast<int>(std::ceil(std::log10(high)));
           ++e)
        for (const double m : marks)
          if (const double v = m * std::pow(10, e); v >= low * (1 - 1e-9) && v <= high * (1 + 1e-9)) out.push_back(v);
      if (out.size() <= most) return out;
    }
    return out;
  }
  const double rough = (high - low) / static_cast<double>(std::max<size_t>(1, most));
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= rough * (1 - 1e-9)) {
      step = m * power;
      break;
    }
  // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): few steps, and 1e-9 of one is allowed for
  for (double v = std::ceil(low / step - 1e-9) * step; v <= high + step * 1e-9; v += step)
    out.push_back(std::abs(v) < step * 1e-9 ? 0 : v);
  return out;
}

std::string short_number(double x) {
  std::string text = std::abs(x) >= 1000 ? fmt::format("{:.0f}", x) : fmt::format("{:.3g}", x);
  if (text.size() <= 4 || text.find_first_not_of("-0123456789") != std::string::npos) return text;
  std::string grouped;
  for (size_t i = 0; i < text.size(); ++i) {
    if (const size_t left = text.size() - i; i > 0 && left % 3 == 0 && text[i - 1] != '-') grouped += ',';
    grouped += text[i];
  }
  return grouped;
}

Axis value_axis(double low, double high) {
  Axis axis;
  axis.logarithmic = low > 0 && high / low > kLinearSpan;
  axis.low = axis.logarithmic ? low * 0.8 : 0;
  axis.high = high > 0 ? high * (axis.logarithmic ? 1.3 : 1.08) : 1;
  return axis;
}

}  // namespace hone::plot
