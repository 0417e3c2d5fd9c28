// Direct convolution of planes (NCHW): a tile of outputs (output channels x rows x a few vectors of neighbouring
// columns) is held in registers while the reduction runs; weights are broadcast, so that it does not matter how few
// output channels there are, nor that theirs lie apart.
#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/runs.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/conv2d.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

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

// The knobs of one config in the order in which they are declared, the constraints between them, and the schedule
// that they make.
class PlanarConvolution {
 public:
  PlanarConvolution(const Workload& w, const Target& target)
      : w_(w), target_(target), c_(conv_shape(w)), lanes_(target.lanes(accumulator_bits(w))) {}

  void choose(Knobs& knobs);
  void constrain(Knobs& knobs) const;
  std::unique_ptr<Schedule> schedule() const;

 private:
  // Two loops of the writer: the one where a tile is computed, and the one whose iterations are a thread's tasks.
  struct Loops {
    LoopRef tile, task;
  };
  Loops schedule_writer(Schedule& s, BlockRef writer) const;
  void schedule_sums(Schedule& s, const Definition& d, BlockRef conv, LoopRef tile) const;
  void schedule_input(Schedule& s, const Definition& d, LoopRef task) const;
  void lay_out_weights(Schedule& s) const;

  int64_t vectors_of_row() const { return registers_of(width_, lanes_); }
  int64_t accumulators() const { return oc_tile_ * oh_tile_ * vectors_of_row(); }
  // Whether a group's channels are filled up to whole tiles: the last tile of each has fewer.
  bool fills_groups() const { return c_.groups > 1 && (c_.co / c_.groups) % oc_tile_ != 0; }

  const Workload& w_;
  const Target& target_;
  const ConvShape& c_;
  const int64_t lanes_;

  int64_t oc_tile_ = 0, width_ = 0, oh_tile_ = 0;
  bool by_columns_ = false;  ///< of a sequence, which has one row: tasks are of its columns, where there are threads
  Split oh_, ow_;            ///< tasks, and tiles of one
  int64_t pad_at_ = 0;
  bool oc_inside_ = false;  ///< whether a task runs through the channel tiles of its rows, or is one of them
  bool unroll_kw_ = false;
};

void PlanarConvolution::choose(Knobs& knobs) {
  constexpr int64_t kMostRows = 4;
  const std::vector<int64_t> channel_tiles = planar_channel_tiles(c_, !has_runs(w_)),
                             widths = planar_widths(c_, lanes_);
  const PlanarTile usual = usual_planar_tile(c_, channel_tiles, widths, kMostRows, target_, lanes_);
  oc_tile_ = knobs.choice("p_tile_oc", channel_tiles, usual.channels);
  width_ = knobs.choice("p_tile_ow", widths, usual.columns);
  oh_tile_ = knobs.choice("p_tile_oh", {1, 2, 3, kMostRows}, usual.rows);
  by_columns_ = c_.oh == 1 && target_.threads > 1;
  const int64_t parts = knobs.thread_choice("p_tasks_oh", chunk_counts(by_columns_ ? c_.ow : c_.oh), 16);
  oh_ = chunks(ceil_div(c_.oh, oh_tile_), by_columns_ ? 1 : parts);
  ow_ = chunks(ceil_div(c_.ow, width_), by_columns_ ? parts : 1);
  pad_at_ = knobs.choice("p_pad_at", {kNowhere, kOnce, kInTask}, kNowhere, kPadAtWords);
  oc_inside_ = knobs.thread_choice("p_oc_inside", {0, 1}, 1) != 0;
  // Neighbouring taps of a strided window read the same vectors, if the compiler sees them together.
  constexpr int64_t kLeastTaps = 5;
  const bool shares_taps = c_.stride_w > 1 && c_.kw >= kLeastTaps && accumulators() * c_.kw <= kMostUnrolledWindow;
  unroll_kw_ = knobs.choice("p_unroll_kw", {0, 1}, shares_taps ? 1 : 0) != 0;
}

void PlanarConvolution::constrain(Knobs& knobs) const {
  knobs.require("accumulators leave registers for weights and data",
                accumulators() + vectors_of_row() + 1 <= target_.vector_registers);
  knobs.require("rows of a tile exist", oh_tile_ <= c_.oh);
  knobs.require("the unrolled body is small", accumulators() * (unroll_kw_ ? c_.kw : 1) <= kMostUnrolledWindow);
}

std::unique_ptr<Schedule> PlanarConvolution::schedule() const {
  const PadSlack slack{(oh_[0] * oh_[1] * oh_tile_ - c_.oh) * c_.stride_h,
                       (ow_[0] * ow_[1] * width_ - c_.ow) * c_.stride_w};
  const Definition d = fills_groups() ? convolution_of_filled_groups(w_, slack, oc_tile_) : convolution(w_, slack);
  auto out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = *out;
  const auto [conv, writer] = begin_tile(s, d);
  const Loops loops = schedule_writer(s, writer);
  schedule_sums(s, d, conv, loops.tile);
  schedule_input(s, d, loops.task);
  s.parallel(loops.task);
  lay_out_weights(s);
  return out;
}

PlanarConvolution::Loops PlanarConvolution::schedule_writer(Schedule& s, BlockRef writer) const {
  const auto axes = s.loops(writer);
  const auto [group, channels] =
      fills_groups() ? s.split(axes[1], c_.co / c_.groups) : std::pair<LoopRef, LoopRef>({}, axes[1]);
  auto [oc_o, oc_i] = s.split(channels, oc_tile_);
  if (fills_groups()) oc_o = s.fuse(group, oc_o);
  const auto rows = s.split(axes[2], std::vector<int64_t>{oh_[0], oh_[1], oh_tile_});
  const auto [ow_all, ow_i] = s.split(axes[3], width_);
  LoopRef part = rows[0], ow_o = ow_all, task;
  if (by_columns_) {
    const auto [of_columns, rest] = s.split(ow_all, ow_[1]);
    s.reorder({rows[0], of_columns, rows[1], rest});
    part = s.fuse(rows[0], of_columns), ow_o = rest;
  }
  if (oc_inside_) {
    s.reorder({axes[0], part, rows[1], oc_o, ow_o, oc_i, rows[2], ow_i});
    task = s.fuse(axes[0], part);
  } else {
    s.reorder({axes[0], oc_o, part, rows[1], ow_o, oc_i, rows[2], ow_i});
    task = fuse_all(s, {axes[0], oc_o, part});
  }
  s.vectorize(ow_i);
  s.unroll(rows[2]);
  s.unroll(oc_i);
  return {ow_o, task};
}

// The accumulators of one tile.
void PlanarConvolution::schedule_sums(Schedule& s, const Definition& d, BlockRef conv, LoopRef tile) const {
  s.compute_at(conv, tile);
  const BlockRef sums = begin_runs(s, d, conv, {"oh", "oc"}, "ow");
  const LoopRef oc = s.loop(sums, "oc"), tile_oh = s.loop(sums, "oh"), tile_ow = s.loop(sums, "ow"),
                ic = s.loop(sums, "ic"), kh = s.loop(sums, "kh"), kw = s.loop(sums, "kw");
  s.reorder({ic, kh, kw, tile_oh, oc, tile_ow});
  s.vectorize(tile_ow);
  s.unroll(oc);
  s.unroll(tile_oh);
  if (unroll_kw_) s.unroll(kw);
  s.decompose_reduction(sums, ic);
}

// The padded input, in place or as a copy.
void PlanarConvolution::schedule_input(Schedule& s, const Definition& d, LoopRef task) const {
  const BlockRef pad = s.block("pad");
  if (pad_at_ == kNowhere) {
    s.compute_inline(pad);
    schedule_changed_input(s, d, lanes_, task);
    return;
  }
  if (pad_at_ == kInTask) s.compute_at(pad, task);
  schedule_padding(s, pad, 1, lanes_, pad_at_ == kOnce);
}

// Puts weights of a tile's channels that are multiplied with the same data side by side.
void PlanarConvolution::lay_out_weights(Schedule& s) const {
  const int64_t group_in = c_.ci / c_.groups, tiles = ceil_div(c_.co / c_.groups, oc_tile_);
  if (fills_groups()) {
    s.transform_layout("weights", Layout{{{0, 1, c_.groups},
                                          {1, oc_tile_, tiles},
                                          {2, 1, group_in},
                                          {3, 1, c_.kh},
                                          {4, 1, c_.kw},
                                          {1, 1, oc_tile_}}});
    s.prepack(s.block("weights"));
  } else {
    s.transform_layout(
        "weight",
        Layout{{{0, oc_tile_, c_.groups * tiles}, {1, 1, group_in}, {2, 1, c_.kh}, {3, 1, c_.kw}, {0, 1, oc_tile_}}});
  }
}

}  // namespace

void conv2d_planar(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  PlanarConvolution planar(w, target);
  planar.choose(knobs);
  planar.constrain(knobs);
  if (out) *out = planar.schedule();
}

}  // namespace hone
