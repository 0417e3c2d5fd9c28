// Where the boxes of a picture stand: the order on each floor with few crossings, and coordinates along it.
#pragma once

#include <vector>

#include "tests/unit/layering/floors.h"

namespace hone::layering {

/// A box, or a line on its way through a floor between its two boxes.
struct Stop {
  size_t box = 0;  ///< boxes().size() and more: a line passes here
  double width = 0;
  double x = 0;              ///< its middle
  std::vector<size_t> down;  ///< stops on the floor below that lines lead to
};

struct Arrangement {
  std::vector<Stop> stops;                  ///< the boxes in their order, then where lines pass
  std::vector<std::vector<size_t>> floors;  ///< the lowest first; stops from left to right
};

/// `widths` are those of the boxes; between neighbours are `gap` pixels. The leftmost edge is at 0.
Arrangement arrange(const std::vector<Box>& boxes, const std::vector<double>& widths, double gap);

/// How many lines between two floors cross each other.
int crossings(const Arrangement& a);

}  // namespace hone::layering
