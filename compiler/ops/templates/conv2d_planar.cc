// Direct convolution of planes (NCHW): a tile of outputs (output channels x rows x a few vectors of neighbouring
// columns) is held in registers while the reduction runs; weights are broadcast, so that it does not matter how few
// output channels there are, nor that theirs lie apart.
#include <algorithm>
#include <set>

#include "compiler/ops/conv_shape.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/runs.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/conv2d.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

struct PlanarTile {
  int64_t channels = 1, columns = 1, rows = 1;
};

// Channels of a tile: all where they are few, so that data is read once; of several groups, of one of them. A tile
// divides the channels of a group, unless only small ones do: an element of data is then read for each channel or two.
std::vector<int64_t> planar_channel_tiles(const ConvShape& c, bool may_fill_groups) {
  constexpr int64_t kLeastTile = 4;
  const int64_t in_group = c.co / c.groups;
  std::set<int64_t> all, exact;
  for (const int64_t t : {1, 2, 3, 4, 6, 8, 12}) {
    const int64_t tile = std::min(t, in_group);
    all.insert(tile);
    if (in_group % tile == 0) exact.insert(tile);
  }
  const std::set<int64_t>& tiles =
      c.groups == 1 || (may_fill_groups && *exact.rbegin() < std::min(in_group, kLeastTile)) ? all : exact;
  return {tiles.begin(), tiles.end()};
}

// Columns of a tile: vectors that waste at most a third of their lanes. Where no whole vector does (of 20 columns 8
// would be all that is offered), as many whole vectors as cover a row, too.
std::vector<int64_t> planar_widths(const ConvShape& c, int64_t lanes) {
  std::vector<int64_t> widths = vector_blocks(c.ow, lanes, c.ow);
  if (c.ow > lanes && widths.back() < lanes) widths.push_back(ceil_div(c.ow, lanes) * lanes);
  return widths;
}

// The tile that covers the image in the least time: an element of weights is broadcast to the columns of all rows.
// Vectors are whole or half ones: other numbers of lanes take up to three times as long (14 columns of 14 instead of
// 16). A vector of every second or third column is put together from several, which is worth a tile of more channels
// and of one row.
PlanarTile usual_planar_tile(const ConvShape& c, const std::vector<int64_t>& channels,
                             const std::vector<int64_t>& columns, int64_t most_rows, const Target& target,
                             int64_t lanes) {
  constexpr double kStridedLoad = 4;  // an estimate: multiply-adds that putting a vector together takes
  const bool strided = c.stride_w > 1;
  const auto is_partial = [&](int64_t width) { return width % ceil_div(lanes, 2) != 0; };
  const bool all_are_partial = std::all_of(columns.begin(), columns.end(), is_partial);
  PlanarTile best;
  double least = 0;
  for (const int64_t oc : channels)
    for (const int64_t width : columns) {
      if (is_partial(width) && !all_are_partial) continue;
      for (int64_t rows = 1; rows <= std::min(strided ? 1 : most_rows, c.oh); ++rows) {
        const int64_t vectors = rows * registers_of(width, lanes);
        if (oc * vectors > 1 && !fits_registers(oc, vectors, target)) break;
        const double tiles = static_cast<double>(c.groups * ceil_div(c.co / c.groups, oc) * ceil_div(c.ow, width) *
                                                 ceil_div(c.oh, rows)),
                     loads = strided ? kStridedLoad * static_cast<double>(vectors) : 0,
                     cost = tiles * (step_cost(oc, vectors) + loads);
        if (least == 0 || cost < least) least = cost, best = {oc, width, rows};
      }
    }
  return best;
}

}  // namespace

void conv2d_planar(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const int64_t lanes = target.lanes(accumulator_bits(w));

  constexpr int64_t kMostRows = 4;
  const std::vector<int64_t> channel_tiles = planar_channel_tiles(c, !has_runs(w)), widths = planar_widths(c, lanes);
  const PlanarTile usual = usual_planar_tile(c, channel_tiles, widths, kMostRows, target, lanes);
  const int64_t oc_tile = knobs.choice("p_tile_oc", channel_tiles, usual.channels);
  const int64_t width = knobs.choice("p_tile_ow", widths, usual.columns);
  const int64_t oh_tile = knobs.choice("p_tile_oh", {1, 2, 3, kMostRows}, usual.rows);
  // A sequence has one row: the knob's parts are of its columns, where there are threads for them.
  const bool by_columns = c.oh == 1 && target.threads > 1;
  const int64_t parts = knobs.thread_choice("p_tasks_oh", chunk_counts(by_columns ? c.ow : c.oh), 16);
  const Split oh = chunks(ceil_div(c.oh, oh_tile), by_columns ? 1 : parts),
              ow = chunks(ceil_div(c.ow, width), by_columns ? parts : 1);
  const int64_t pad_at = knobs.choice("p_pad_at", {kNowhere, kOnce, kInTask}, kNowhere, kPadAtWords);
  // 0: a task is (image, channel tile, rows); 1: a task is (image, rows) and runs through the channel tiles.
  const bool oc_inside = knobs.thread_choice("p_oc_inside", {0, 1}, 1) != 0;
  const int64_t row = registers_of(width, lanes), accumulators = oc_tile * oh_tile * row;
  // Neighbouring taps of a strided window read the same vectors, if the compiler sees them together.
  constexpr int64_t kLeastTaps = 5;
  const bool shares_taps = c.stride_w > 1 && c.kw >= kLeastTaps && accumulators * c.kw <= kMostUnrolledWindow;
  const bool unroll_kw = knobs.choice("p_unroll_kw", {0, 1}, shares_taps ? 1 : 0) != 0;

  knobs.require("accumulators leave registers for weights and data", accumulators + row + 1 <= target.vector_registers);
  knobs.require("rows of a tile exist", oh_tile <= c.oh);
  knobs.require("the unrolled body is small", accumulators * (unroll_kw ? c.kw : 1) <= kMostUnrolledWindow);
  if (!out) return;

  const PadSlack slack{(oh[0] * oh[1] * oh_tile - c.oh) * c.stride_h, (ow[0] * ow[1] * width - c.ow) * c.stride_w};
  const bool fills_groups = c.groups > 1 && (c.co / c.groups) % oc_tile != 0;
  const Definition d = fills_groups ? convolution_of_filled_groups(w, slack, oc_tile) : convolution(w, slack);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const BlockRef pad = s.block("pad");
  const auto [conv, writer] = begin_tile(s, d);

  const auto axes = s.loops(writer);
  // Where groups are filled up, the last tile of each has fewer channels.
  const auto [group, channels] =
      fills_groups ? s.split(axes[1], c.co / c.groups) : std::pair<LoopRef, LoopRef>({}, axes[1]);
  auto [oc_o, oc_i] = s.split(channels, oc_tile);
  if (fills_groups) oc_o = s.fuse(group, oc_o);
  const auto rows = s.split(axes[2], std::vector<int64_t>{oh[0], oh[1], oh_tile});
  const auto [ow_all, ow_i] = s.split(axes[3], width);
  LoopRef part = rows[0], ow_o = ow_all, task;
  if (by_columns) {
    const auto [of_columns, rest] = s.split(ow_all, ow[1]);
    s.reorder({rows[0], of_columns, rows[1], rest});
    part = s.fuse(rows[0], of_columns), ow_o = rest;
  }
  if (oc_inside) {
    s.reorder({axes[0], part, rows[1], oc_o, ow_o, oc_i, rows[2], ow_i});
    task = s.fuse(axes[0], part);
  } else {
    s.reorder({axes[0], oc_o, part, rows[1], ow_o, oc_i, rows[2], ow_i});
    task = fuse_all(s, {axes[0], oc_o, part});
  }
  s.vectorize(ow_i);
  s.unroll(rows[2]);
  s.unroll(oc_i);

  s.compute_at(conv, ow_o);
  const BlockRef sums = begin_runs(s, d, conv, {"oh", "oc"}, "ow");
  const LoopRef oc = s.loop(sums, "oc"), tile_oh = s.loop(sums, "oh"), tile_ow = s.loop(sums, "ow"),
                ic = s.loop(sums, "ic"), kh = s.loop(sums, "kh"), kw = s.loop(sums, "kw");
  s.reorder({ic, kh, kw, tile_oh, oc, tile_ow});
  s.vectorize(tile_ow);
  s.unroll(oc);
  s.unroll(tile_oh);
  if (unroll_kw) s.unroll(kw);
  s.decompose_reduction(sums, ic);

  if (pad_at == kNowhere) {
    s.compute_inline(pad);
    schedule_changed_input(s, d, lanes, task);
  } else {
    if (pad_at == kInTask) s.compute_at(pad, task);
    schedule_padding(s, pad, 1, lanes, pad_at == kOnce);
  }
  s.parallel(task);
  // Of a tile's channels the weights that are multiplied with the same data lie together.
  const int64_t tiles_in_group = ceil_div(c.co / c.groups, oc_tile);
  if (fills_groups) {
    s.transform_layout("weights", Layout{{{0, 1, c.groups},
                                          {1, oc_tile, tiles_in_group},
                                          {2, 1, c.ci / c.groups},
                                          {3, 1, c.kh},
                                          {4, 1, c.kw},
                                          {1, 1, oc_tile}}});
    s.prepack(s.block("weights"));
  } else {
    s.transform_layout("weight", Layout{{{0, oc_tile, c.groups * tiles_in_group},
                                         {1, 1, c.ci / c.groups},
                                         {2, 1, c.kh},
                                         {3, 1, c.kw},
                                         {0, 1, oc_tile}}});
  }
}

}  // namespace hone
