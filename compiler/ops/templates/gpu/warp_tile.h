// Parts of the GPU templates of matrix products on tensor cores: a block computes a tile of rows x columns, divided
// among warps and staged through shared memory along k. schedule/tensor_intrinsics.h defines a warp's operations.
#pragma once

#include <string>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"

namespace hone {

/// The tensor intrinsic for a product of these types on `target`; empty where the target has no tensor cores for them.
std::string_view tensor_core_intrinsic(const Target& target, const DTypes& types);
/// Elements of k in one instruction: 32 bytes of a row. Tensor cores cannot compute a product whose k is no multiple of
/// it.
int64_t step_of_k(const DTypes& types);

/// The choices of a tile. A block has warps_m x warps_n warps, each with tile_m x tile_n tiles of 16 rows and 8
/// columns.
struct WarpTile {
  int64_t warps_m = 1, warps_n = 1, tile_m = 1, tile_n = 1;
  int64_t steps = 1, step_k = 16;  ///< of k: steps staged at a time, and elements of a step
  /// Parts of k in shared memory: while one is multiplied, the others are fetched.
  int64_t stages = 1;
  int64_t rows() const { return 16 * warps_m * tile_m; }
  int64_t columns() const { return 8 * warps_n * tile_n; }
  int64_t tile_k() const { return steps * step_k; }
  int64_t threads() const { return 32 * warps_m * warps_n; }
};

/// Declares or reads the knobs of a tile of an m x n product over k, with its limits: threads, registers, shared
/// memory. `outer_k` is the product of the other reduction loops (a convolution's window), which run around k.
/// `columns_of_b`: B lies in shared memory with its columns, not k, innermost.
WarpTile choose_warp_tile(Knobs& knobs, const Target& target, const DTypes& types, int64_t m, int64_t n, int64_t k,
                          int64_t outer_k, bool columns_of_b);

/// Splits the writer's loops over rows and columns, perfectly nested in this order, into blocks and the threads
/// of warps. `around` are loops outside of both, all blocks. Returns the innermost block loop, under which a
/// block's work stands.
LoopRef schedule_warp_writer(Schedule& s, const WarpTile& tile, const std::vector<LoopRef>& around, LoopRef row,
                             LoopRef column);

/// Computes the sum in the block at `at`, on tensor cores: `row`, `column` and `k` name its axes, `outside` its other
/// reduction loops; the remaining loops run once. Returns the loop of staging: one iteration stages one part of k.
LoopRef schedule_warp_sum(Schedule& s, const WarpTile& tile, std::string_view intrinsic, BlockRef sum, LoopRef at,
                          std::string_view row, std::string_view column, std::string_view k,
                          const std::vector<std::string>& outside = {});

/// The largest number of neighbours that one thread copies at once: 16 bytes, or a divisor of all `extents`.
int64_t copied_at_once(DType t, std::initializer_list<int64_t> extents);

/// Pads the staged rows (dimension `dimension` of the result of `copy`) so that they begin in different banks, and
/// makes a double buffer of them where the tile says so. Comes after the copy's loops and layout.
void finish_staged(Schedule& s, const WarpTile& tile, BlockRef copy, DType t, int dimension);

}  // namespace hone
