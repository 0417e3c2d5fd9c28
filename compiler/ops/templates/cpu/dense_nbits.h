// The two ways of dense_nbits on CPUs, in vectors and on tiles, and what they share. Each declares knobs of its own
// and, when asked to (`out` not null), makes the schedule.
#pragma once

#include <memory>

#include "compiler/ops/products/dense_nbits.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/matrix_units.h"

namespace hone {

/// The unit of bf16 that computes a dense_nbits on `target`; null where it has none, blocks are not in whole steps of
/// it, or m or n fill a quarter of a tile at most.
const MatrixUnit* nbits_unit(const Workload& w, const Target& target);

/// With a nbits_unit().
void dense_nbits_tiles(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs,
                       std::unique_ptr<Schedule>* out);

/// Gives threads the rows of a stage that depends on A alone, where it has elements enough.
void share_rows(Schedule& s, const NbitsShape& shape, LoopRef rows);
/// Schedules the stage `sums` of `d`, A's sums over blocks, where there is one: once for all columns.
void sum_rows(Schedule& s, const Definition& d, const NbitsShape& shape);
/// Lays out the constants in panels [tiles][along k][columns] of so many columns.
void lay_out_weights(Schedule& s, const NbitsShape& shape, int64_t columns);

}  // namespace hone
