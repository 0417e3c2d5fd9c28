// Defaults of the tiles that products and convolutions keep in vector registers: `rows`, whose elements are broadcast,
// times `vectors` of the other operand, an accumulator each.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/ops/dtypes.h"
#include "compiler/target/target.h"

namespace hone {

/// Whether the accumulators leave registers for one row of vectors and a broadcast element.
bool fits_registers(int64_t rows, int64_t vectors, const Target& target);

/// Whether vectors are multiplied by single lanes of others (NEON, of f32 and f16): four neighbours of a row are read
/// at once then, and wait in a register until each has had its turn (codegen/llvm/lane_loads.h).
bool multiplies_by_lanes(const Target& target, const DTypes& types);

/// The time of a reduction's step in a tile, in multiply-adds: one for each accumulator, and the time of its loads
/// when they are many. At least 10: processors start two multiply-adds a cycle, and each takes 4 cycles (Zen 3,
/// Skylake to Sapphire Rapids), so fewer sums wait for themselves, and 8 have no slack (1x1 convolutions of 1024
/// channels on Zen 3: 60 GFLOPS with tiles of 8, 94 with 12). `lane_registers`: their number on a target that
/// multiplies_by_lanes(); 0 on others.
double step_cost(int64_t rows, int64_t vectors, int64_t lane_registers = 0);

/// The time of all tiles of `rows` over `extent`, a step of each, for one row of the extent. Rows of the last tile that
/// lie behind the extent cost as much as others.
double covering_cost(int64_t extent, int64_t rows, int64_t vectors);

/// The best of `candidates` (ascending): the rows that fit the registers and cover `extent` in the least time, the
/// largest of equal ones; the first candidate when none fits.
int64_t usual_rows(const std::vector<int64_t>& candidates, int64_t extent, int64_t vectors, const Target& target,
                   bool by_lanes = false);

/// A default tile of an image: columns and rows.
struct ImageTile {
  int64_t columns = 1, rows = 1;
  double cost = 0;  ///< as covering_cost(), of a pixel
};

/// The tile of one of `widths` columns (ascending), at most 14, and of at most `most_rows` rows that covers an image of
/// `columns` x `rows` in the least time, a wide one of equal ones.
ImageTile usual_image_tile(const std::vector<int64_t>& widths, int64_t columns, int64_t rows, int64_t most_rows,
                           int64_t vectors, const Target& target, bool by_lanes = false);

/// The default of `tiles` (channels of a register tile): the one nearest to two vectors, unless another covers
/// `channels` in a tenth less time. `pixel_cost`: the cost of a pixel for a tile of so many vectors.
int64_t usual_channel_tile(const std::vector<int64_t>& tiles, int64_t channels, int64_t lanes,
                           const std::function<double(int64_t vectors)>& pixel_cost);

}  // namespace hone
