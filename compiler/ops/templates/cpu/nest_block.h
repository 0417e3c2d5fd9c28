// The sums that a unit of matrices (target/matrix_units.h) keeps in its registers while k runs: what products and
// convolutions choose and schedule alike.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/ops/workload.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/space.h"
#include "compiler/target/matrix_units.h"

namespace hone {

/// `high` x `wide` registers of sums, of the unit's rows and columns each.
struct NestBlock {
  const MatrixUnit* unit = nullptr;
  int64_t high = 1, wide = 1;
  int64_t unroll_k = 1;  ///< steps of k in one iteration

  int64_t height() const { return high * unit->rows; }
  int64_t width() const { return wide * unit->columns; }
  /// Rows of A that lie together in a packed copy, for each step of k, and columns of B: those of one tile, which one
  /// load takes; of vector registers those of the block, which are loaded one behind the other.
  int64_t panel_rows() const { return unit->has_tiles() ? unit->rows : height(); }
  int64_t panel_columns() const { return unit->has_tiles() ? unit->columns : width(); }
};

/// The product whose sums are to be divided in blocks.
struct NestExtents {
  int64_t rows, columns;  ///< of C
  int64_t steps;          ///< of k that one loop has
  /// Columns of C that lie together, of which a default block has whole parts or is one; 0: all.
  int64_t together = 0;
};

/// Names of the knobs of a block.
struct NestKnobs {
  std::string_view block, unroll;
};

/// From how many blocks of columns on a copy of A's rows is worth its making: two loads and two stores for each 16
/// bytes, which save one of the three instructions that read them from rows apart.
inline constexpr int64_t kReadsThatPayACopy = 5;

/// Declares or reads the knob `unit`: whether `unit` computes the sums, or vectors.
bool choose_unit(const MatrixUnit& unit, Knobs& knobs, bool by_default);

/// Declares or reads the knobs. By default a block of vector registers is the one that covers the product in the
/// fewest instructions.
NestBlock choose_block(const MatrixUnit& unit, const NestExtents& of, const NestKnobs& names, Knobs& knobs);

/// Loops of a block's sums: over its registers, and over rows and columns of one.
struct NestLoops {
  LoopRef tile_m, tile_n, row, column;
};

/// Schedules the reduction of `sum`: loop `k` in steps of the unit, the loops of a window between its steps and the
/// registers, which are unrolled. Zeros come first.
void schedule_steps(Schedule& s, BlockRef sum, LoopRef k, const std::vector<LoopRef>& window, const NestLoops& of,
                    const NestBlock& block);

}  // namespace hone
