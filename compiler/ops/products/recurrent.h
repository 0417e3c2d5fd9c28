// The extents of recurrent layers (lstm, gru, rnn), read from a workload's attributes.
#pragma once

#include <cstdint>

#include "compiler/ops/workload.h"

namespace hone {

/// `steps` steps of `batch` sequences, each with a state of `hidden` elements and `gates` gates over it.
struct RecurrentShape {
  int64_t steps = 1, batch = 1, hidden = 0, gates = 1;
};
const RecurrentShape& recurrent_shape(const Workload& w);

}  // namespace hone
