#include "compiler/ops/templates/cpu/nest_block.h"

#include <algorithm>

#include "compiler/ir/expr.h"

namespace hone {
namespace {

// Rows and columns of a block, as two digits.
const std::vector<int64_t> kSizesInTiles = {11, 12, 21, 22, 13, 31, 14, 41};
// Columns fill vectors of sums. 32 registers hold them, a row of factors of B and one of A.
const std::vector<int64_t> kSizesInVectors = {12, 14, 16, 18, 22, 24, 26, 28, 32, 34,
                                              36, 42, 44, 46, 52, 54, 62, 64, 82};

int64_t usual_tiles(const MatrixUnit& unit, const NestExtents& of) {
  if (of.rows <= unit.rows) return of.columns <= unit.columns ? 11 : 12;
  return of.columns <= unit.columns ? 21 : 22;
}

// The instructions of a step for the whole product: products (a dozen hide the time of one) and loads, which take turns
// with them on most cores.
double instructions_of(int64_t high, int64_t wide, const MatrixUnit& unit, const NestExtents& of) {
  constexpr int64_t kHiding = 12;
  constexpr double kLoad = 0.4;
  const int64_t blocks = ceil_div(of.rows, high * unit.rows) * ceil_div(of.columns, wide * unit.columns);
  return static_cast<double>(blocks) *
         (static_cast<double>(std::max(high * wide, kHiding)) + kLoad * static_cast<double>(high + wide));
}

// Whether a block is not much larger than the product.
bool fits(int64_t high, int64_t wide, const MatrixUnit& unit, const NestExtents& of) {
  return high * unit.rows < of.rows + unit.rows && wide * unit.columns < of.columns + unit.columns;
}

int64_t usual_block(const MatrixUnit& unit, const NestExtents& of) {
  int64_t best = kSizesInVectors.front();
  double least = 0;
  for (const int64_t size : kSizesInVectors) {
    const int64_t high = size / 10, wide = size % 10, width = wide * unit.columns;
    if (!fits(high, wide, unit, of) || (of.together && width % of.together != 0 && of.together % width != 0)) continue;
    const double instructions = instructions_of(high, wide, unit, of);
    if (least == 0 || instructions < least) least = instructions, best = size;
  }
  return best;
}

}  // namespace

bool choose_unit(const MatrixUnit& unit, Knobs& knobs, bool by_default) {
  constexpr int64_t kVectors = 0, kTiles = 1, kMmla = 2;
  const int64_t own = unit.has_tiles() ? kTiles : kMmla;
  return knobs.choice("unit", {kVectors, own}, by_default ? own : kVectors,
                      {{kVectors, "vectors"}, {kTiles, "tiles"}, {kMmla, "mmla"}}) == own;
}

NestBlock choose_block(const MatrixUnit& unit, const NestExtents& of, const NestKnobs& names, Knobs& knobs) {
  const bool on_tiles = unit.has_tiles();
  const int64_t size = knobs.choice(names.block, on_tiles ? kSizesInTiles : kSizesInVectors,
                                    on_tiles ? usual_tiles(unit, of) : usual_block(unit, of));
  NestBlock block{&unit, size / 10, size % 10};
  knobs.require("a block is not much larger than the product", fits(block.high, block.wide, unit, of));
  if (on_tiles) return block;
  constexpr int64_t kUsual = 2;  // more spare the branch, and make the loop too long for the smallest caches of it
  block.unroll_k = knobs.choice(names.unroll, {1, 2, 4}, of.steps % kUsual == 0 ? kUsual : 1);
  knobs.require("k is in whole unrolled steps", of.steps % block.unroll_k == 0);
  return block;
}

void schedule_steps(Schedule& s, BlockRef sum, LoopRef k, const std::vector<LoopRef>& window, const NestLoops& of,
                    const NestBlock& block) {
  const MatrixUnit& u = *block.unit;
  const bool on_tiles = u.has_tiles();
  std::vector<int64_t> factors{0};
  if (!on_tiles) factors.push_back(block.unroll_k);
  if (u.depth > u.word) factors.push_back(u.depth / u.word);
  factors.push_back(u.word);
  const std::vector<LoopRef> steps = s.split(k, factors);
  std::vector<LoopRef> order{steps.front()};
  order.insert(order.end(), window.begin(), window.end());
  if (!on_tiles) order.push_back(steps[1]);
  order.insert(order.end(), {of.tile_m, of.tile_n, of.row, of.column});
  order.insert(order.end(), steps.begin() + (on_tiles ? 1 : 2), steps.end());
  s.reorder(order);
  const BlockRef zeros = s.decompose_reduction(sum, steps.front());
  const std::vector<LoopRef> around = s.loops(zeros);
  s.vectorize(around.back());
  if (!on_tiles) {
    // Sums that nothing but constants index stay in LLVM's registers from the zeros to the writer.
    constexpr size_t kOfBlock = 4;  // NestLoops
    for (size_t l = around.size() - kOfBlock; l + 1 < around.size(); ++l) s.unroll(around[l]);
    s.unroll(steps[1]);
  }
  s.unroll(of.tile_m);
  s.unroll(of.tile_n);
}

}  // namespace hone
