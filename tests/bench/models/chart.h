// The ratios as a picture.
#pragma once

#include <string>

#include "tests/bench/models/result.h"

namespace hone::bench {

/// An SVG, for light and dark pages: a panel for each number of threads, a row for each model, by groups with their
/// geometric means; the ratio on a logarithmic axis with the line at 1.
std::string chart_svg(const Report& report);

}  // namespace hone::bench
