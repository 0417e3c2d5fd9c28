#include "compiler/ops/templates/gpu/warp_tile.h"

#include <numeric>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/schedule/tensor_intrinsics.h"

namespace hone {
namespace {

constexpr int64_t kBytesOfK = 32;  // bytes of k that one mma takes
constexpr int64_t kRowBytes = 16;  // bytes of a row that ldmatrix reads at once
constexpr int64_t kUsualStages = 3;
// Registers of a thread beside its accumulators: addresses, counters, and fragments of A and B on their way to the
// tensor cores.
constexpr int64_t kMostAccumulators = 128, kWarpRegisters = 56;

std::vector<int64_t> powers(int64_t most) {
  std::vector<int64_t> out;
  for (int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// Bytes of a staged row: padded so that eight neighbouring rows begin in different banks.
int64_t row_bytes(int64_t bytes) { return bytes % (2 * kRowBytes) == 0 ? bytes + kRowBytes : bytes; }

}  // namespace

std::string_view tensor_core_intrinsic(const Target& target, const DTypes& t) {
  struct Row {
    std::string_view intrinsic;
    DType in, weight, accumulate;
    bool tf32;
  };
  static const Row kIntrinsics[] = {
      {"mma_f16", f16, f16, f32, false}, {"mma_bf16", bf16, bf16, f32, false}, {"mma_tf32", f32, f32, f32, true},
      {"mma_s8s8", i8, i8, i32, false},  {"mma_u8s8", u8, i8, i32, false},
  };
  for (const Row& row : kIntrinsics)
    if (row.in == t.in && row.weight == t.weight && row.accumulate == t.accumulate && row.tf32 == t.tf32 &&
        find_intrinsic(row.intrinsic).is_on(target))
      return row.intrinsic;
  return "";
}

int64_t step_of_k(const DTypes& types) { return kBytesOfK / types.in.bytes(); }

WarpTile choose_warp_tile(Knobs& knobs, const Target& target, const DTypes& types, int64_t m, int64_t n, int64_t k,
                          int64_t outer_k, bool columns_of_b) {
  WarpTile t;
  t.step_k = step_of_k(types);
  WarpTile usual;
  usual.warps_m = m >= 64 ? 2 : 1, usual.warps_n = n >= 64 ? 2 : 1;
  usual.tile_m = m >= 128 ? 4 : 1, usual.tile_n = n >= 128 ? 8 : n >= 64 ? 4 : 1;
  usual.step_k = t.step_k;
  t.warps_m = knobs.choice("warps_m", powers(4), usual.warps_m);
  t.warps_n = knobs.choice("warps_n", powers(8), usual.warps_n);
  t.tile_m = knobs.choice("warp_tile_m", powers(8), usual.tile_m);
  t.tile_n = knobs.choice("warp_tile_n", powers(16), usual.tile_n);
  const auto parts_of_k = [&](int64_t steps) {
    return k % (steps * t.step_k) == 0 ? k / (steps * t.step_k) * outer_k : 0;
  };
  const auto staged_bytes = [&](const WarpTile& tile) {
    const int64_t b = columns_of_b ? tile.tile_k() * row_bytes(tile.columns() * types.weight.bytes())
                                   : tile.columns() * row_bytes(tile.tile_k() * types.weight.bytes());
    return tile.rows() * row_bytes(tile.tile_k() * types.in.bytes()) + b;
  };
  usual.steps = parts_of_k(2) > 1 ? 2 : 1;
  t.steps = knobs.choice("steps_k", powers(4), usual.steps);
  // Without asynchronous copies a thread waits for its own loads: two stages are as good as more.
  const std::vector<int64_t> stages =
      target.has(Feature::kAsyncCopy) ? std::vector<int64_t>{1, 2, 3, 4, 5} : std::vector<int64_t>{1, 2};
  usual.stages = std::min({parts_of_k(usual.steps), stages.back(), kUsualStages,
                           std::max<int64_t>(target.shared_bytes / staged_bytes(usual), 1)});
  t.stages = knobs.choice("warp_stages", stages, usual.stages);

  const int64_t accumulators = 4 * t.tile_m * t.tile_n, registers = accumulators + 2 * t.tile_n + 4 + kWarpRegisters;
  knobs.require("a block has at most as many threads as the device allows", t.threads() <= target.max_threads);
  knobs.require("accumulators fit the registers",
                accumulators <= kMostAccumulators && registers * t.threads() <= target.registers_per_sm);
  knobs.require("the tile is not much larger than the product",
                t.rows() < 2 * std::max<int64_t>(m, 16) && t.columns() < 2 * std::max<int64_t>(n, 8));
  knobs.require("k divides into tiles", k % t.tile_k() == 0);
  knobs.require("there are as many parts to fetch", t.stages == 1 || parts_of_k(t.steps) >= t.stages);
  require_room(knobs, target, {t.threads(), registers, t.stages * staged_bytes(t)});
  return t;
}

LoopRef schedule_warp_writer(Schedule& s, const WarpTile& tile, const std::vector<LoopRef>& around, LoopRef row,
                             LoopRef column) {
  // Blocks, warps, tiles; inside a tile: two groups of eight rows, a thread's row in each, and a thread's two columns.
  const auto rows = s.split(row, std::vector<int64_t>{0, tile.warps_m, tile.tile_m, 2, 8});
  const auto columns = s.split(column, std::vector<int64_t>{0, tile.warps_n, tile.tile_n, 4, 2});
  std::vector<LoopRef> order = around;
  order.insert(order.end(), {rows[0], columns[0], rows[1], columns[1], rows[4], columns[3], rows[2], columns[2],
                             rows[3], columns[4]});
  s.reorder(order);
  for (const LoopRef block : around) s.bind(block, LoopKind::kBlock);
  for (const LoopRef block : {rows[0], columns[0]}) s.bind(block, LoopKind::kBlock);
  for (const LoopRef thread : {rows[1], columns[1], rows[4], columns[3]}) s.bind(thread, LoopKind::kThread);
  for (const LoopRef own : {rows[2], columns[2], rows[3]}) s.unroll(own);
  s.vectorize(columns[4]);
  return columns[0];
}

LoopRef schedule_warp_sum(Schedule& s, const WarpTile& tile, std::string_view intrinsic, BlockRef sum, LoopRef at,
                          std::string_view row, std::string_view column, std::string_view k,
                          const std::vector<std::string>& outside) {
  s.compute_at(sum, at);
  const auto rows = s.split(s.loop(sum, row), std::vector<int64_t>{0, tile.tile_m, 2, 8});
  const auto columns = s.split(s.loop(sum, column), std::vector<int64_t>{0, tile.tile_n, 4, 2});
  const auto depth = s.split(s.loop(sum, k), std::vector<int64_t>{0, tile.steps, tile.step_k});
  std::vector<LoopRef> reduced;
  for (const std::string& name : outside) reduced.push_back(s.loop(sum, name));
  reduced.push_back(depth[0]);
  std::vector<LoopRef> order = reduced;
  order.insert(order.end(), {rows[0], columns[0], rows[3], columns[2], depth[1], rows[1], columns[1], rows[2],
                             columns[3], depth[2]});
  s.reorder(order);
  const LoopRef staged = fuse_all(s, reduced);
  for (const LoopRef thread : {rows[0], columns[0], rows[3], columns[2]}) s.bind(thread, LoopKind::kThread);
  s.tensorize(sum, rows[2], intrinsic);
  for (const LoopRef own : {depth[1], rows[1], columns[1]}) s.unroll(own);
  s.decompose_reduction(sum, staged);
  return staged;
}

int64_t copied_at_once(DType t, std::initializer_list<int64_t> extents) {
  int64_t n = kRowBytes / t.bytes();
  for (const int64_t extent : extents) n = std::gcd(n, extent);
  return n;
}

void finish_staged(Schedule& s, const WarpTile& tile, BlockRef copy, DType t, int dimension) {
  s.storage_align(copy, dimension, 2 * kRowBytes / t.bytes(), kRowBytes / t.bytes());
  if (tile.stages > 1) s.double_buffer(copy, tile.stages);
}

}  // namespace hone
