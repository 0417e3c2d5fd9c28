// Parts of the GPU templates of matrix products without tensor cores: a block computes a tile of rows x columns, staged
// through shared memory along k and accumulated in registers.
#pragma once

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"

namespace hone {

/// The choices of a tile. A block has threads_m x threads_n threads, each with tile_m x tile_n accumulators. `strided`:
/// a thread's columns are groups of four, threads_n * 4 apart, so that neighbouring threads read neighbouring words of
/// shared memory.
struct ProductTile {
  int64_t threads_m = 1, threads_n = 1, tile_m = 1, tile_n = 1;
  int64_t tile_k = 1;  ///< elements of k that are staged at a time
  bool strided = false, unroll_k = false;
  bool double_buffer = false;  ///< the next tiles are fetched while these are multiplied
  int64_t registers = 0;       ///< of a thread, estimated
  int64_t buffers() const { return double_buffer ? 2 : 1; }
  int64_t rows() const { return threads_m * tile_m; }
  int64_t columns() const { return threads_n * tile_n; }
  int64_t threads() const { return threads_m * threads_n; }
};

/// The default tile: the largest with which `products` products of m x n have enough tiles for the target's
/// multiprocessors. Its tile_k is 16.
ProductTile usual_product_tile(const Target& target, int64_t m, int64_t n, int64_t products = 1);

/// Declares or reads the knobs of a tile of an m x n product over k, with its limits: threads, registers. `usual` are
/// the default choices, `tiles_k` those of tile_k; the knobs' names begin with `prefix`.
ProductTile choose_product_tile(Knobs& knobs, const Target& target, const DTypes& types, int64_t m, int64_t n,
                                int64_t k, const ProductTile& usual,
                                const std::vector<int64_t>& tiles_k = {4, 8, 16, 32}, const std::string& prefix = "",
                                bool may_double_buffer = false);

/// Double buffers for the stages `copies`, where the tile says so. Comes last, when their loops are settled.
void double_buffer_staged(Schedule& s, const ProductTile& tile, std::initializer_list<BlockRef> copies);

/// Elements of shared memory that a staged copy of `elements` takes: rounds of all threads, `vector` elements each.
int64_t staged_elements(const ProductTile& tile, int64_t elements, int64_t vector);

/// Splits the writer's loops over rows and columns, which are perfectly nested in this order, into blocks and threads.
/// `around` are loops outside of both, all blocks. Returns the innermost block loop, under which a block's work
/// stands.
LoopRef schedule_tile_writer(Schedule& s, const ProductTile& tile, const std::vector<LoopRef>& around, LoopRef row,
                             LoopRef column);

/// Computes the sum in the block at `at`, accumulated in registers: `row`, `column` and `k` name its axes. Its other
/// reduction loops run around the tiles of k (`outside`) or in each of them (`inside`); the remaining loops run once.
/// Returns the innermost loop around a tile: one iteration stages one tile of k.
LoopRef schedule_tile_sum(Schedule& s, const ProductTile& tile, BlockRef sum, LoopRef at, std::string_view row,
                          std::string_view column, std::string_view k, const std::vector<std::string>& outside = {},
                          const std::vector<std::string>& inside = {});

/// Divides `copy`, a stage in shared memory, among all threads of the block, under `at`. Its last axis is contiguous in
/// the memory it reads; a thread copies `vector` neighbours at a time.
void schedule_cooperative(Schedule& s, int64_t threads, BlockRef copy, LoopRef at, int64_t vector);
inline void schedule_cooperative(Schedule& s, const ProductTile& tile, BlockRef copy, LoopRef at, int64_t vector) {
  schedule_cooperative(s, tile.threads(), copy, at, vector);
}

/// The same for a stage with two axes that are divided among threads separately: `inner`, along which it reads
/// neighbours, and `outer`; `others` are loops around them. The divisors are powers of two without rest, so nothing is
/// rounded up, and each index depends on one axis alone, so the verifier can prove it.
void schedule_cooperative(Schedule& s, int64_t threads, BlockRef copy, LoopRef at, int64_t vector,
                          const std::vector<std::string>& others, std::string_view outer, std::string_view inner);
inline void schedule_cooperative(Schedule& s, const ProductTile& tile, BlockRef copy, LoopRef at, int64_t vector,
                                 const std::vector<std::string>& others, std::string_view outer,
                                 std::string_view inner) {
  schedule_cooperative(s, tile.threads(), copy, at, vector, others, outer, inner);
}

}  // namespace hone
