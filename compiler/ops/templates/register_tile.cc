#include "compiler/ops/templates/register_tile.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/ops/templates/common.h"

namespace hone {

bool fits_registers(int64_t rows, int64_t vectors, const Target& target) {
  return rows * vectors + vectors + 1 <= target.vector_registers;
}

bool multiplies_by_lanes(const Target& target, const DTypes& types) {
  return target.arch == "aarch64" && (types.in == f32 || types.in == f16);
}

double step_cost(int64_t rows, int64_t vectors, int64_t lane_registers) {
  constexpr int64_t kLatencyOfTwoUnits = 10;
  constexpr double kLoad = 0.3;  // it takes a slot of another unit, and of the front end's
  constexpr double kElementsOfALoad = 4;
  const bool by_lanes = rows * vectors + vectors + rows + 1 <= lane_registers;
  return static_cast<double>(std::max(rows * vectors, kLatencyOfTwoUnits)) +
         kLoad * (static_cast<double>(rows) / (by_lanes ? kElementsOfALoad : 1) + static_cast<double>(vectors));
}

double covering_cost(int64_t extent, int64_t rows, int64_t vectors) {
  return static_cast<double>(ceil_div(extent, rows)) * step_cost(rows, vectors) / static_cast<double>(extent);
}

int64_t usual_rows(const std::vector<int64_t>& candidates, int64_t extent, int64_t vectors, const Target& target,
                   bool by_lanes) {
  int64_t best = candidates.front();
  double least = 0;
  for (const int64_t rows : candidates) {
    if (!fits_registers(rows, vectors, target)) continue;
    const double cost = static_cast<double>(ceil_div(extent, rows)) *
                        step_cost(rows, vectors, by_lanes ? target.vector_registers : 0) / static_cast<double>(extent);
    if (least == 0 || cost <= least) least = cost, best = rows;
  }
  return best;
}

ImageTile usual_image_tile(const std::vector<int64_t>& widths, int64_t columns, int64_t rows, int64_t most_rows,
                           int64_t vectors, const Target& target, bool by_lanes) {
  constexpr int64_t kMostColumns = 14;
  constexpr double kRow = 0.05;  // rows are streams of their own, which lie in pages of their own
  ImageTile best;
  for (auto width = widths.rbegin(); width != widths.rend(); ++width) {
    const int64_t x = *width;
    if (x > kMostColumns) continue;
    for (int64_t y = 1; y <= std::min(most_rows, rows); ++y) {
      if (x * y > 1 && !fits_registers(x * y, vectors, target)) break;
      const double tiles = static_cast<double>(ceil_div(columns, x)) * static_cast<double>(ceil_div(rows, y)),
                   cost = (1 + kRow * static_cast<double>(y - 1)) * tiles *
                          step_cost(x * y, vectors, by_lanes ? target.vector_registers : 0) /
                          static_cast<double>(columns) / static_cast<double>(rows);
      if (best.cost == 0 || cost < best.cost) best = {x, y, cost};
    }
  }
  return best;
}

int64_t usual_channel_tile(const std::vector<int64_t>& tiles, int64_t channels, int64_t lanes,
                           const std::function<double(int64_t vectors)>& pixel_cost) {
  constexpr double kWorthIt = 0.9;
  const auto cost = [&](int64_t tile) {
    return static_cast<double>(ceil_div(channels, tile)) * pixel_cost(registers_of(tile, lanes));
  };
  const auto from_two_vectors = [&](int64_t tile) { return std::abs(tile - 2 * lanes); };
  int64_t best = *std::min_element(tiles.begin(), tiles.end(),
                                   [&](int64_t a, int64_t b) { return from_two_vectors(a) < from_two_vectors(b); });
  double least = kWorthIt * cost(best);
  for (const int64_t tile : tiles)
    if (cost(tile) < least) least = cost(tile), best = tile;
  return best;
}

}  // namespace hone
