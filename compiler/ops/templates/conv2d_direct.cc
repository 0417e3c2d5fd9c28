// Direct convolution: a tile of outputs (rows x columns x a block of output channels) is held in vector registers while
// the reduction runs; weights are packed so that a block of output channels is one or a few vectors; data is broadcast.
#include <algorithm>
#include <cmath>

#include "compiler/ops/conv_shape.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/runs.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/conv2d.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
SplitRule columns_rule(const Target& target) {
  // Where registers hold few columns, one more or less matters.
  return {.max_inner = {28}, .all_up_to = target.vector_registers < 32 ? 6 : 0};
}

namespace {

// Of a sequence, which has one row: tasks are columns, of all channels, where threads then read more of what they wrote
// than of each other's, or where there are too few blocks of channels for them.
RowTasks usual_column_tasks(const ConvShape& c, const Target& target, const ConvBytes& bytes, int64_t channel_blocks) {
  constexpr int64_t kColumnsOfAThread = 16;
  const bool has_columns = c.n < target.threads && c.ow / kColumnsOfAThread >= target.threads;
  const bool is_better = bytes.weights < bytes.input + bytes.output || channel_blocks < target.threads;
  return has_columns && is_better ? RowTasks{true, target.threads} : RowTasks{false, 1};
}

// As a split takes it by default.
int64_t nearest_factor(const std::vector<int64_t>& factors, int64_t preferred) {
  const auto distance = [&](int64_t f) {
    return std::fabs(std::log2(static_cast<double>(f) / static_cast<double>(preferred)));
  };
  return *std::min_element(factors.begin(), factors.end(),
                           [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
}

}  // namespace

void conv2d_direct(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  const int64_t lanes = target.lanes(accumulator_bits(w)), group_in = c.ci / c.groups, group_out = c.co / c.groups;

  constexpr int64_t kMostRows = 4, kUsualColumns = 12;
  SplitRule columns_of_tiles = columns_rule(target);
  const std::vector<int64_t> widths = split_factors(c.ow, columns_of_tiles);
  const bool by_lanes = layout.blocked && multiplies_by_lanes(target, dtypes_of(w));
  const auto usual_tile = [&](int64_t vectors) {
    return usual_image_tile(widths, c.ow, c.oh, layout.in_block > 1 && layout.out_block ? kMostRows : 1, vectors,
                            target, by_lanes);
  };
  const std::vector<int64_t> channels_of_tiles = channel_tiles(w, target, group_out);
  const int64_t oc_block =
      knobs.choice("oc_block", channels_of_tiles,
                   layout.out_block ? usual_channel_tile(channels_of_tiles, group_out, lanes,
                                                         [&](int64_t vectors) { return usual_tile(vectors).cost; })
                                    : 2 * lanes);
  const int64_t ic_block = knobs.choice("ic_block",
                                        layout.in_block  ? std::vector<int64_t>{layout.in_block}
                                        : layout.blocked ? channel_blocks(group_in, lanes)
                                                         : std::vector<int64_t>{1},
                                        16);
  const int64_t word = elements_of_dot(w, ic_block, oc_block);
  const ImageTile usual = usual_tile(registers_of(oc_block, lanes));
  columns_of_tiles.prefer = {layout.out_block || by_lanes ? usual.columns : kUsualColumns};
  // Where the width has few factors, the nearest one may be too wide for the registers: then the widest that is not.
  const int64_t registers = registers_of(oc_block, lanes);
  const auto fits = [&](int64_t columns) { return (columns + 1) * registers < target.vector_registers; };
  if (!layout.out_block && !by_lanes && !fits(nearest_factor(widths, kUsualColumns)))
    columns_of_tiles.prefer = {*std::find_if(widths.rbegin(), widths.rend(), fits)};
  const Split ow = knobs.split("tile_ow", c.ow, 2, columns_of_tiles);
  const int64_t oh_tile = knobs.choice("tile_oh", {1, 2, 3, 4}, usual.rows);
  const int64_t element = dtypes_of(w).in.bytes(), weight_bytes = element * c.co * group_in * c.kh * c.kw;
  const auto bytes_of_image = [&](int64_t channels, int64_t rows, int64_t columns) {
    return static_cast<double>(element * c.n) * static_cast<double>(channels) * static_cast<double>(rows) *
           static_cast<double>(columns);
  };
  const ConvBytes bytes{bytes_of_image(c.ci, c.h, c.w), static_cast<double>(weight_bytes),
                        bytes_of_image(c.co, c.oh, c.ow)};
  // A sequence has one row: the knob's parts are of its columns, where there are threads for them.
  const bool by_columns = c.oh == 1 && target.threads > 1;
  const RowTasks tasks =
      (by_columns ? &usual_column_tasks : &usual_row_tasks)(c, target, bytes, ceil_div(c.co, oc_block));
  constexpr int64_t kUsualTasks = 8;
  const int64_t parts = knobs.thread_choice("tasks_oh", chunk_counts(by_columns ? c.ow : c.oh),
                                            tasks.all_channels || by_columns ? tasks.parts : kUsualTasks);
  const Split oh = chunks(ceil_div(c.oh, oh_tile), by_columns ? 1 : parts),
              columns = chunks(ow[0], by_columns ? parts : 1);
  const int64_t pad_at = knobs.choice("pad_at", {kNowhere, kOnce, kInTask}, kNowhere, kPadAtWords);
  // 0: a task is (image, channel block, rows); 1: a task is (image, rows) and runs through the channel blocks.
  const bool oc_inside = knobs.thread_choice("oc_inside", {0, 1}, tasks.all_channels || changes_input(w) ? 1 : 0) != 0;
  // Order of the reduction below the block of input channels: 0 kh kw ic, 1 kh ic kw, 2 ic kh kw.
  const int64_t order = knobs.choice("order", {0, 1, 2}, 0, {{0, "kh_kw_ic"}, {1, "kh_ic_kw"}, {2, "ic_kh_kw"}});
  const auto run_of = [&](int64_t block) {
    return dtypes_of(w).f16_runs ? runs_of_channels(group_in, block, c.kh * c.kw).length : group_in;
  };
  const int64_t ic_unroll = knobs.choice(
      "unroll_ic", {1, 2, 4, 8, 16},
      usual_unrolling(std::min(layout.blocked ? ic_block / word : group_in, run_of(layout.blocked ? ic_block : 1)), 4));
  const bool unroll_kw = knobs.choice("unroll_kw", {0, 1}, 0) != 0;
  const int64_t vector_bits = choose_vector_bits(knobs, target);

  const int64_t ic_step = layout.blocked ? ic_block : ic_unroll;  // word: 1 unless it is blocked
  const int64_t step = std::min(ic_step, run_of(ic_step));        // of a run, within a block
  const int64_t accumulators = oh_tile * ow[1] * registers_of(oc_block, vector_bits / accumulator_bits(w));
  knobs.require(
      "accumulators leave registers for weights and data",
      accumulators + registers_of(oc_block, vector_bits / accumulator_bits(w)) + 1 <= target.vector_registers);
  knobs.require("the output block fits a vector loop", oc_block <= Schedule::kMostLanes);
  knobs.require("input blocks divide the group", group_in % ic_step == 0);
  knobs.require("output blocks divide the group", c.groups == 1 || group_out % oc_block == 0);
  knobs.require("unrolling divides the input block", step / word % ic_unroll == 0);
  knobs.require("rows of a tile exist", oh_tile <= c.oh);
  knobs.require("the unrolled body is small", accumulators * ic_unroll * (unroll_kw ? c.kw : 1) <= kMostUnrolledWindow);
  if (!out) return;

  const Definition d = convolution(
      w, {(oh[0] * oh[1] * oh_tile - c.oh) * c.stride_h, (columns[0] * columns[1] * ow[1] - c.ow) * c.stride_w},
      ic_step);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const BlockRef pad = s.block("pad");
  const auto [conv, writer] = begin_tile(s, d);

  // The writer: parallel tasks, then rows, columns and the tile.
  const auto axes = s.loops(writer);
  const auto [oc_o, oc_tile] = s.split(axes[1], oc_block);
  const ChannelTileLoops channels = split_channel_tile(s, oc_tile, layout);
  const auto rows = s.split(axes[2], std::vector<int64_t>{oh[0], oh[1], oh_tile});
  const auto [ow_all, ow_i] = s.split(axes[3], ow[1]);
  LoopRef part = rows[0], ow_o = ow_all, task;
  if (by_columns) {
    const auto [of_columns, rest] = s.split(ow_all, columns[1]);
    s.reorder({rows[0], of_columns, rows[1], rest});
    part = s.fuse(rows[0], of_columns), ow_o = rest;
  }
  if (oc_inside) {
    reorder_tile(s, {axes[0], part, oc_o, rows[1], ow_o}, channels, {rows[2], ow_i});
    task = s.fuse(axes[0], part);
  } else {
    reorder_tile(s, {axes[0], oc_o, part, rows[1], ow_o}, channels, {rows[2], ow_i});
    task = fuse_all(s, {axes[0], oc_o, part});
  }
  vectorize_tile(s, channels);
  s.unroll(ow_i);
  s.unroll(rows[2]);

  // The accumulators of one tile.
  s.compute_at(conv, ow_o);
  const BlockRef sums = begin_runs(s, d, conv, {"oh", "ow"}, "oc");
  const LoopRef oc = s.loop(sums, "oc"), tile_oh = s.loop(sums, "oh"), tile_ow = s.loop(sums, "ow"),
                kh = s.loop(sums, "kh"), kw = s.loop(sums, "kw");
  const auto [ic_o, ic_rest] = s.split(s.loop(sums, "ic"), step);
  const auto [ic_words, ic_w] = split_word(s, ic_rest, word);
  const auto [ic_i, ic_u] = s.split(ic_words, ic_unroll);
  std::vector<LoopRef> tile_loops{ic_u, tile_oh, tile_ow, oc};
  if (ic_w) tile_loops.push_back(*ic_w);
  const auto reorder_sum = [&](std::vector<LoopRef> loops) {
    loops.insert(loops.end(), tile_loops.begin(), tile_loops.end());
    s.reorder(loops);
  };
  switch (order) {
    case 0: reorder_sum({ic_o, kh, kw, ic_i}); break;
    case 1: reorder_sum({ic_o, kh, ic_i, kw}); break;
    default: reorder_sum({ic_o, ic_i, kh, kw}); break;
  }
  if (!ic_w) s.vectorize(oc);
  s.unroll(tile_ow);
  s.unroll(tile_oh);
  s.unroll(ic_u);
  if (unroll_kw) s.unroll(kw);
  std::optional<LoopRef> reads_ahead;
  if (order == 0 || c.kh * c.kw == 1)  // the weights' own order
    reads_ahead =
        prefetch_constants(s, {ic_o, kh, kw, ic_i}, "weight", weight_bytes, ic_unroll * word * oc_block * element);
  const BlockRef zeros = s.decompose_reduction(sums, ic_o);
  if (ic_w) s.vectorize(s.loop(zeros, "oc"));

  // The padded input, and layouts.
  if (pad_at == kNowhere) {
    s.compute_inline(pad);
    schedule_changed_input(s, d, lanes, task);
  } else {
    if (pad_at == kInTask) s.compute_at(pad, task);
    // The few channels of a picture are no vectors; columns are.
    const int64_t pad_block = changes_input(w) && ic_block < lanes ? 1 : ic_block;
    schedule_padding(s, pad, pad_block, lanes, pad_at == kOnce);
    std::vector<int64_t> pad_shape = {
        c.n, c.ci, c.h + c.pad_top + c.pad_bottom + (oh[0] * oh[1] * oh_tile - c.oh) * c.stride_h,
        c.w + c.pad_left + c.pad_right + (columns[0] * columns[1] * ow[1] - c.ow) * c.stride_w};
    s.transform_layout("pad", activation_layout(layout, pad_block, pad_shape));
  }
  channels_innermost(s, conv, 1);
  if (sums.id != conv.id) channels_innermost(s, sums, 2);
  // Half of what a thread reads of its input was written by another one a layer before, and is in that core's caches;
  // an image that L2 does not hold is in none of them. A line of it meets few multiply-adds where the kernel is 1x1; a
  // block of channels ahead is enough of them.
  const bool comes_from_afar = target.threads > 1 || bytes.input > static_cast<double>(target.l2_bytes);
  if (comes_from_afar && c.kh * c.kw == 1 && pad_at == kNowhere && s.extent(ic_o) > 1 && layout.in_block > 1 &&
      !prologue_stage(d) && !(reads_ahead && reads_ahead->id == ic_o.id))
    s.annotate(ic_o, "prefetch:data", 1);
  s.parallel(task);
  lay_out_first_input(s, d, activation_layout(layout, ic_block, {c.n, c.ci, c.h, c.w}));
  Layout packed{
      {{0, oc_block, ceil_div(c.co, oc_block)}, {1, ic_step, group_in / ic_step}, {2, 1, c.kh}, {3, 1, c.kw}}};
  append_words(&packed, 1, ic_step, word, 0, oc_block);
  s.transform_layout("weight", packed);
  if (ic_w) s.tensorize(sums, oc, dot_intrinsic(w));
  const std::vector<int64_t> out_shape{c.n, c.co, c.oh, c.ow};
  lay_out_like(s, d, activation_layout(layout, layout.out_block ? layout.out_block : oc_block, out_shape));
  s.annotate("vector_bits", vector_bits);
}

}  // namespace hone
