// dense and batch_matmul on a unit of matrices (target/matrix_units.h).
#pragma once

#include <memory>

#include "compiler/ops/workload.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/matrix_units.h"

namespace hone {

/// The unit that computes the workload's products on `target`; null where it has none for them, or k or n fill a
/// quarter of a tile at most (of vector registers: k is not in whole steps, or n less than a vector of sums).
const MatrixUnit* tile_unit_of(const Workload& w, const Target& target);

/// Declares or reads the knobs, and makes the schedule where `out` is not null.
void matmul_tiles(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs,
                  std::unique_ptr<Schedule>* out);

}  // namespace hone
