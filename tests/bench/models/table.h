// Results as text, for terminals and the README.
#pragma once

#include <string>

#include "tests/bench/models/result.h"

namespace hone::bench {

/// Which columns there are.
struct Columns {
  bool tuned = false, spinning = false;
};
Columns columns_of(const Report& report);

/// Two lines: the names of the columns.
std::string header_text(const Columns& columns);
/// One line: times, ratios and where the configs are from; or why there are none.
std::string row_text(const Row& row, const Columns& columns);
/// For a row with layers: the time of each operation on each side and its share of the side's layers, side by side, the
/// longest first; those below 1% in one line. Or why there are none. Empty for other rows.
std::string layers_text(const Row& row);
/// The geometric means of the ratios, for each number of threads over all models and, where there are several, each
/// group; then sizes and times until the first outputs, a line for each model, and the machine. Empty when no row
/// has times.
std::string summary_text(const Report& report, const Columns& columns);

}  // namespace hone::bench
