// The numbers of recurrent layers, and one step of each written down.
#pragma once

#include <cstdint>

#include "compiler/ops/definition.h"

namespace hone {

/// Sums of `gates` gates of `hidden` elements for each of `batch` sequences.
struct RecurrentShape {
  int64_t steps = 1, batch = 1, hidden = 0, gates = 1;
};
const RecurrentShape& recurrent_shape(const Workload& w);

}  // namespace hone
