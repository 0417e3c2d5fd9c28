// Pooling: a tile of columns x a vector of channels in registers while the window's few taps run; where channels are
// not contiguous, a vector of columns.
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"
#include "compiler/ops/windows/pooling.h"

namespace hone {
namespace {

struct PoolChoices {
  bool along_w;   // vectors run along the columns, not the channels
  int64_t block;  // lanes of a vector loop
  int64_t tile_ow, tile_oh;
  Split tasks;  // tasks, and tiles of rows of a task
  // 0: no border, or read in place; 1: a padded copy of the input; 2: a padded copy by each task; 3: the nearest
  // element instead of the border.
  int64_t border;
  bool unroll_kh, unroll_kw;
  int64_t vector_bits;
  bool rows_outer;  // tasks are some rows of a channel block, those of the same rows together
};

bool has_padding(const ConvShape& c) { return c.pad_top + c.pad_left + c.pad_bottom + c.pad_right > 0; }

// A maximum does not change when elements of its window replace the border. A dilated window may not contain the
// nearest element.
std::vector<int64_t> borders(const Workload& w) {
  std::vector<int64_t> out{0, 1, 2};
  if (may_read_nearest(w)) out.push_back(3);
  return out;
}

PoolChoices choose_pool(const Workload& w, const Target& target, const ConvShape& c, const LayoutChoice& layout,
                        Knobs& knobs) {
  const int64_t lanes = target.lanes(8 * dtypes_of(w).in.bytes());
  PoolChoices k;
  const bool plain = !layout.blocked && layout.in == "NCHW";
  k.along_w = knobs.choice("vector_axis", plain ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{0}) != 0;
  knobs.when(k.along_w);
  const int64_t block_w = knobs.choice("block_w", vector_blocks(c.ow, lanes, c.ow), lanes);
  knobs.when(!k.along_w);
  const int64_t block_c = knobs.choice(
      "block_c", layout.in_block ? std::vector<int64_t>{layout.in_block} : vector_blocks(c.co, lanes, c.co), lanes);
  k.tile_ow = knobs.split("tile_ow", c.ow, 2, {.max_inner = {16}, .prefer = {7}})[1];
  knobs.when(true);
  k.block = k.along_w ? block_w : block_c;
  k.tile_oh = knobs.choice("tile_oh", {1, 2, 4}, 1);
  k.tasks = knobs.split("task_oh", ceil_div(c.oh, k.tile_oh), 2, {.prefer = {8}, .for_threads = true});
  k.rows_outer =
      knobs.thread_choice("rows_outer", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          gives_rows_to_threads(c, target, 0, 1) ? 1 : 0) != 0;
  const std::vector<int64_t> reads = borders(w);
  // The nearest element's position costs nothing where it is one for a vector of channels; columns of their own would
  // be gathered one by one. Copies are slower than the few conditions at a border.
  const bool is_nearest = !k.along_w && has_padding(c) && may_read_nearest(w);
  k.border = knobs.choice("border", reads, is_nearest ? 3 : 0,
                          {{0, "in_place"}, {1, "copy"}, {2, "copy_in_task"}, {3, "nearest"}});
  k.unroll_kh = knobs.choice("unroll_kh", {0, 1}, 1) != 0;
  k.unroll_kw = knobs.choice("unroll_kw", {0, 1}, 1) != 0;
  k.vector_bits = choose_vector_bits(knobs, target);

  const int64_t columns = k.along_w ? 1 : k.tile_ow;
  const int64_t accumulators = k.tile_oh * columns * registers_of(k.block, lanes * k.vector_bits / target.vector_bits);
  const bool tails = (k.along_w ? c.ow % k.block != 0 : c.ow % k.tile_ow != 0) ||
                     c.oh % (k.tile_oh * k.tasks[1]) != 0 || (!k.along_w && c.co % k.block != 0);
  knobs.require("accumulators leave registers for data", accumulators + 2 <= target.vector_registers);
  knobs.require("the block fits a vector loop", k.block <= Schedule::kMostLanes);
  knobs.require("rows of a tile exist", k.tile_oh <= c.oh);
  knobs.require("no border where there is none and nothing overhangs", k.border == 0 || has_padding(c) || tails);
  knobs.require("the unrolled body is small",
                accumulators * (k.unroll_kh ? c.kh : 1) * (k.unroll_kw ? c.kw : 1) <= kMostUnrolledWindow);
  return k;
}

// The writer's loops: tasks, tiles, and a tile's rows, columns and lanes. Returns the loop that holds a tile's
// accumulators.
LoopRef tile_output(Schedule& s, BlockRef writer, const PoolChoices& k, LoopRef* task) {
  const auto axes = s.loops(writer);
  const auto rows = s.split(axes[2], std::vector<int64_t>{k.tasks[0], k.tasks[1], k.tile_oh});
  LoopRef outer, tile, vector;
  if (k.along_w) {
    const auto [ow_o, ow_i] = s.split(axes[3], k.block);
    s.reorder({axes[0], axes[1], rows[0], rows[1], ow_o, rows[2], ow_i});
    outer = axes[1], tile = ow_o, vector = ow_i;
  } else {
    const auto [c_o, c_i] = s.split(axes[1], k.block);
    const auto [ow_o, ow_i] = s.split(axes[3], k.tile_ow);
    s.reorder({axes[0], c_o, rows[0], rows[1], ow_o, rows[2], ow_i, c_i});
    s.unroll(ow_i);
    outer = c_o, tile = ow_o, vector = c_i;
  }
  if (k.rows_outer) s.reorder({rows[0], outer});
  *task = fuse_all(
      s, k.rows_outer ? std::vector<LoopRef>{axes[0], rows[0], outer} : std::vector<LoopRef>{axes[0], outer, rows[0]});
  s.vectorize(vector);
  s.unroll(rows[2]);
  return tile;
}

void reduce_window(Schedule& s, BlockRef pool, const PoolChoices& k) {
  const LoopRef channel = s.loop(pool, "c"), row = s.loop(pool, "oh"), column = s.loop(pool, "ow"),
                kh = s.loop(pool, "kh"), kw = s.loop(pool, "kw");
  if (k.along_w) {
    s.reorder({channel, kh, kw, row, column});
  } else {
    s.reorder({kh, kw, row, column, channel});
    s.unroll(column);
  }
  s.vectorize(k.along_w ? column : channel);
  s.unroll(row);
  if (k.unroll_kw) s.unroll(kw);
  if (k.unroll_kh) s.unroll(kh);
  s.decompose_reduction(pool, kh);
}

void position_border(Schedule& s, const PoolChoices& k, LoopRef task, int64_t padded_w) {
  const BlockRef pad = s.block("pad");
  if (k.border == 0) return s.compute_inline(pad);
  if (k.border == 2) s.compute_at(pad, task);
  const LoopRef n = s.loop(pad, "n"), y = s.loop(pad, "y"), x = s.loop(pad, "x"), c = s.loop(pad, "c");
  std::vector<LoopRef> outer{n, c, y};
  if (k.along_w) {
    const auto [x_o, x_i] = s.split(x, std::min<int64_t>(64, padded_w));
    s.reorder({n, c, y, x_o, x_i});
    s.vectorize(x_i);
  } else {
    const auto [c_o, c_i] = s.split(c, k.block);
    s.reorder({n, c_o, y, x, c_i});
    s.vectorize(c_i);
    outer[1] = c_o;
  }
  if (k.border == 1) s.parallel(fuse_all(s, outer));
}

}  // namespace

void pool_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  const PoolChoices k = choose_pool(w, target, c, layout, knobs);
  if (!out) return;

  const int64_t columns = k.along_w ? k.block : k.tile_ow;
  PadSlack slack;
  if (k.border == 1 || k.border == 2)
    slack = {(k.tasks[0] * k.tasks[1] * k.tile_oh - c.oh) * c.stride_h,
             (ceil_div(c.ow, columns) * columns - c.ow) * c.stride_w};
  const Definition d = pooling(w, k.border == 3 ? PoolBorder::kNearest : PoolBorder::kPadded, slack);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const auto [pool, writer] = begin_tile(s, d);

  LoopRef task;
  const LoopRef tile = tile_output(s, writer, k, &task);
  s.compute_at(pool, tile);
  reduce_window(s, pool, k);
  const int64_t padded_h = c.h + c.pad_top + c.pad_bottom + slack.h,
                padded_w = c.w + c.pad_left + c.pad_right + slack.w;
  if (k.border != 3) position_border(s, k, task, padded_w);
  if ((k.border == 1 || k.border == 2) && !k.along_w)
    s.transform_layout("pad", activation_layout(layout, k.block, {c.n, c.ci, padded_h, padded_w}));
  if (!k.along_w) channels_innermost(s, pool, 1);
  s.parallel(task);
  if (layout.blocked || layout.in != "NCHW") {
    lay_out_first_input(s, d, activation_layout(layout, k.block, {c.n, c.ci, c.h, c.w}));
    lay_out_like(s, d, activation_layout(layout, k.block, {c.n, c.co, c.oh, c.ow}));
  }
  s.annotate("vector_bits", k.vector_bits);
}

}  // namespace hone
