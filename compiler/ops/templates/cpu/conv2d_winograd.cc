// Winograd's algorithm: tiles of the input are transformed a vector of channels at a time, a block of tiles is
// multiplied by the transformed weights (packed ahead) position by position, and each tile of products is transformed
// to outputs. The data between the stages stays in a block of tiles: in L2, if the knobs are chosen well.
#include <cmath>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/conv2d.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/winograd.h"

namespace hone {
namespace {

struct WinogradChoices {
  int64_t oc_block, ic_block, tile_p, block_p, unroll_ic;
  bool input_in_task;  // each task transforms the input of its tiles, or all tasks transform it beforehand
  bool oc_outer;       // order of the tasks when it is transformed beforehand
};

const std::vector<int64_t> kTileRows = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28},
                           kBlockTiles = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64};

// How tasks divide the products.
struct UsualTasks {
  int64_t rows = 12, count = 2;  // tiles of a register tile, register tiles of a block
  bool weights_once = false;     // tasks are blocks of channels, which read their weights once
};

// A default of the two sizes, the cheapest. Loads make a register tile dearer; each block goes through all weights
// once; tiles behind the last one are computed, too, and all wait for the thread with the most blocks. A block,
// `bytes_of_a_tile` for each of its tiles, takes at most half of L2. It is a task with all channels, or
// `channel_tasks` of them, and there is a task for each thread. Bytes are doubles: a workload's sizes may have any
// product.
UsualTasks usual_block(const ConvShape& c, const Target& target, int64_t tiles, int64_t registers,
                       double bytes_of_a_tile, int64_t channel_tasks) {
  UsualTasks best;
  double least = 0;
  const auto l2 = static_cast<double>(target.l2_bytes), threads = static_cast<double>(target.threads);
  for (const int64_t rows : kTileRows)
    for (const int64_t count : kBlockTiles) {
      const int64_t block = rows * count, blocks = ceil_div(tiles, block);
      if (!fits_registers(rows, registers, target)) continue;
      const double tasks = static_cast<double>(blocks) * static_cast<double>(channel_tasks);
      if (count > 1 && (2 * static_cast<double>(block) * bytes_of_a_tile > l2 || tasks < threads)) continue;
      const double products =
          static_cast<double>(block) * step_cost(rows, registers) / static_cast<double>(rows * registers);
      // A load of a weight from beyond L2 takes as long as some thirty multiply-adds of the lanes that share it.
      const double of_a_block = static_cast<double>(c.ci) * (products + 4.0);
      const double cost = of_a_block * std::ceil(tasks / threads) * threads / static_cast<double>(channel_tasks);
      if (least != 0 && cost >= least) continue;
      least = cost;
      best.rows = rows, best.count = count;
    }
  return best;
}

// Tasks are blocks of tiles, one for each thread at least, which transform their inputs and read all weights. Or, where
// weights are more than L2 holds and that reads less, blocks of channels, which read their weights once and all inputs,
// transformed beforehand: these stay in L2 where they fit.
UsualTasks usual_tasks(const ConvShape& c, const Target& target, int64_t tiles, int64_t oc_block, int64_t registers,
                       int64_t bytes_of_an_element) {
  const auto each = static_cast<double>(bytes_of_an_element), l2 = static_cast<double>(target.l2_bytes),
             ci = static_cast<double>(c.ci), weights = each * ci * static_cast<double>(c.co),
             inputs = each * ci * static_cast<double>(tiles);
  const int64_t channel_blocks = ceil_div(c.co, oc_block);
  const UsualTasks of_tiles = usual_block(c, target, tiles, registers, each * (ci + static_cast<double>(oc_block)), 1);
  const auto blocks = static_cast<double>(ceil_div(tiles, of_tiles.rows * of_tiles.count));
  if (2 * weights <= l2 || channel_blocks < target.threads ||
      weights * blocks <= weights + inputs * (inputs <= l2 ? 1 : static_cast<double>(channel_blocks)))
    return of_tiles;
  UsualTasks of_channels =
      usual_block(c, target, tiles, registers, each * static_cast<double>(oc_block), channel_blocks);
  of_channels.weights_once = true;
  return of_channels;
}

// B^T d B, for one block of tiles inside `task`, or for all tiles before it.
void schedule_input(Schedule& s, const WinogradChoices& k, const ConvShape& c, int64_t alpha, int64_t tiles,
                    LoopRef task) {
  const BlockRef patches = s.block("patches"), rows = s.block("input_rows"), result = s.block("input_tiles");
  if (k.input_in_task) s.compute_at(result, task);
  const LoopRef a = s.loop(result, "a"), b = s.loop(result, "b"), p = s.loop(result, "p");
  const auto [ic_o, ic_i] = s.split(s.loop(result, "ic"), k.ic_block);
  s.reorder({p, ic_o, a, b, ic_i});
  s.vectorize(ic_i);
  s.unroll(b);
  // One vector of channels of one tile.
  const LoopRef tile = k.input_in_task ? ic_o : s.fuse(p, ic_o);
  s.set_scope(rows, BufferScope::kStack);
  s.compute_at(rows, tile);
  const LoopRef row_a = s.loop(rows, "a"), row_x = s.loop(rows, "x"), row_ic = s.loop(rows, "ic");
  s.reorder({row_x, row_a, row_ic});
  s.vectorize(row_ic);
  s.unroll(row_a);
  if (!k.input_in_task) s.parallel(tile);
  s.compute_inline(s.block("pad"));
  s.set_scope(patches, BufferScope::kStack);
  s.compute_at(patches, tile);
  const LoopRef y = s.loop(patches, "y"), x = s.loop(patches, "x"), patch_ic = s.loop(patches, "ic");
  s.reorder({y, x, patch_ic});
  s.vectorize(patch_ic);
  channels_innermost(s, patches, 1);
  const int64_t block = k.tile_p * k.block_p;
  s.transform_layout("input_tiles", Layout{{{2, block, ceil_div(tiles, block)},
                                            {0, 1, alpha},
                                            {1, 1, alpha},
                                            {3, k.ic_block, c.ci / k.ic_block},
                                            {2, 1, block},
                                            {3, 1, k.ic_block}}});
}

// G w G^T, once.
void schedule_weights(Schedule& s, const WinogradChoices& k, const ConvShape& c, int64_t alpha) {
  const BlockRef rows = s.block("weight_rows"), result = s.block("weight_tiles");
  const LoopRef a = s.loop(result, "a"), b = s.loop(result, "b"), ic = s.loop(result, "ic");
  const auto [oc_o, oc_i] = s.split(s.loop(result, "oc"), k.oc_block);
  s.reorder({oc_o, ic, a, b, oc_i});
  s.vectorize(oc_i);
  s.unroll(b);
  s.set_scope(rows, BufferScope::kStack);
  s.compute_at(rows, ic);
  const LoopRef row_a = s.loop(rows, "a"), row_x = s.loop(rows, "x"), row_oc = s.loop(rows, "oc");
  s.reorder({row_x, row_a, row_oc});
  s.vectorize(row_oc);
  s.unroll(row_a);
  s.transform_layout("weight_tiles", Layout{{{3, k.oc_block, ceil_div(c.co, k.oc_block)},
                                             {0, 1, alpha},
                                             {1, 1, alpha},
                                             {2, 1, c.ci},
                                             {3, 1, k.oc_block}}});
  s.prepack(result);
}

// The products of a block of tiles and a block of channels, one register tile at a time.
// `weights`: bytes, of all of them; `element`: of one.
void schedule_products(Schedule& s, const WinogradChoices& k, LoopRef block, int64_t weights, int64_t element) {
  const BlockRef products = s.block("products"), writer = s.cache_write(products, BufferScope::kStack);
  s.compute_at(writer, block);
  const auto axes = s.loops(writer);  // a, b, p, oc are the last four
  const LoopRef oc_lanes = axes[axes.size() - 1];
  const auto [tile, row] = s.split(axes[axes.size() - 2], k.tile_p);
  s.vectorize(oc_lanes);
  s.unroll(row);
  s.compute_at(products, tile);
  const LoopRef p = s.loop(products, "p"), oc = s.loop(products, "oc");
  const auto [ic_o, ic_rest] = s.split(s.loop(products, "ic"), k.ic_block);
  const auto [ic_i, ic_u] = s.split(ic_rest, k.unroll_ic);
  s.reorder({ic_o, ic_i, ic_u, p, oc});
  s.vectorize(oc);
  s.unroll(p);
  s.unroll(ic_u);
  prefetch_constants(s, {ic_o, ic_i}, "weight_tiles", weights, k.unroll_ic * k.oc_block * element);
  s.decompose_reduction(products, ic_o);
}

}  // namespace

void conv2d_winograd(const Workload& w, const Target& target, int m, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  const int64_t lanes = target.lanes(accumulator_bits(w)), alpha = m + 2,
                tiles = c.n * ceil_div(c.oh, m) * ceil_div(c.ow, m);

  WinogradChoices k{};
  k.oc_block = knobs.choice("w_oc_block", channel_tiles(w, target, c.co), 2 * lanes);
  k.ic_block = knobs.choice(
      "w_ic_block", layout.in_block ? std::vector<int64_t>{layout.in_block} : channel_blocks(c.ci, lanes), lanes);
  const UsualTasks usual = layout.in_block && layout.out_block
                               ? usual_tasks(c, target, tiles, k.oc_block, registers_of(k.oc_block, lanes),
                                             alpha * alpha * dtypes_of(w).accumulate.bytes())
                               : UsualTasks();
  k.tile_p = knobs.choice("w_tile_p", kTileRows, usual.rows);
  k.block_p = knobs.thread_choice("w_block_p", kBlockTiles, usual.count);
  k.unroll_ic = knobs.choice("w_unroll_ic", {1, 2, 4, 8}, usual_unrolling(k.ic_block, 2));
  k.input_in_task = knobs.thread_choice("w_input_in_task", {0, 1}, usual.weights_once ? 0 : 1) != 0;
  k.oc_outer = knobs.thread_choice("w_oc_outer", {0, 1}, usual.weights_once ? 1 : 0) != 0;

  const int64_t registers = registers_of(k.oc_block, lanes), accumulators = k.tile_p * registers,
                block = k.tile_p * k.block_p;
  knobs.require("accumulators leave registers for weights and data",
                accumulators + registers + 1 <= target.vector_registers);
  // Two FMAs can start in each cycle, and each takes four: eight independent sums keep them busy.
  knobs.require("accumulators hide the latency of their sums", accumulators >= 8 || block >= tiles);
  knobs.require("a block of tiles stays in L2",
                k.block_p == 1 || !k.input_in_task ||
                    alpha * alpha * block * (c.ci + k.oc_block) * dtypes_of(w).accumulate.bytes() <= target.l2_bytes);
  knobs.require("the output block fits a vector loop", k.oc_block <= Schedule::kMostLanes);
  knobs.require("input blocks divide the channels", c.ci % k.ic_block == 0);
  knobs.require("unrolling divides the input block", k.ic_block % k.unroll_ic == 0);
  knobs.require("blocks of tiles waste little",
                3 * (ceil_div(tiles, block) * block - tiles) <= ceil_div(tiles, block) * block);
  knobs.require("the order of tasks matters where both are tasks", !k.input_in_task || !k.oc_outer);
  knobs.require("the unrolled body is small", accumulators * k.unroll_ic <= kMostUnrolledProduct);
  if (!out) return;

  const Definition d = winograd_convolution(w, m);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const BlockRef writer = begin_writer(s, d), output_rows = s.block("output_rows");

  const auto axes = s.loops(writer);
  const auto [oc_o, oc_tile] = s.split(axes[1], k.oc_block);
  const ChannelTileLoops channels = split_channel_tile(s, oc_tile, layout);
  const auto [row, i] = s.split(axes[2], m);
  const auto [column, j] = s.split(axes[3], m);
  reorder_tile(s, {axes[0], row, column, oc_o}, channels, {i, j});
  const auto [p_o, p_i] = s.split(fuse_all(s, {axes[0], row, column}), block);
  if (k.oc_outer)
    reorder_tile(s, {oc_o, p_o, p_i}, channels, {i, j});
  else
    reorder_tile(s, {p_o, oc_o, p_i}, channels, {i, j});
  LoopRef task = p_o, products_at = oc_o;
  if (!k.input_in_task) task = products_at = k.oc_outer ? s.fuse(oc_o, p_o) : s.fuse(p_o, oc_o);
  vectorize_tile(s, channels);
  s.unroll(j);

  s.set_scope(output_rows, BufferScope::kStack);
  s.compute_at(output_rows, p_i);
  const LoopRef row_i = s.loop(output_rows, "i"), row_b = s.loop(output_rows, "b"), row_oc = s.loop(output_rows, "oc");
  s.reorder({row_b, row_i, row_oc});
  s.vectorize(row_oc);
  s.unroll(row_i);

  const int64_t element = dtypes_of(w).accumulate.bytes();
  schedule_products(s, k, products_at, alpha * alpha * c.ci * c.co * element, element);
  schedule_input(s, k, c, alpha, tiles, task);
  schedule_weights(s, k, c, alpha);
  s.parallel(task);
  lay_out_first_input(s, d, activation_layout(layout, k.ic_block, {c.n, c.ci, c.h, c.w}));
  const std::vector<int64_t> out_shape{c.n, c.co, c.oh, c.ow};
  lay_out_like(s, d, activation_layout(layout, layout.out_block ? layout.out_block : k.oc_block, out_shape));
}

}  // namespace hone
