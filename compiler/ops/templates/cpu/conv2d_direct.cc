// Direct convolution: a tile of outputs (rows x columns x a block of output channels) is held in vector registers while
// the reduction runs; weights are packed so that a block of output channels is one or a few vectors; data is broadcast.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/runs.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/conv2d.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {
SplitRule columns_rule(const Target& target) {
  // Where registers hold few columns, one more or less matters.
  return {.max_inner = {28}, .all_up_to = target.vector_registers < 32 ? 6 : 0};
}

namespace {

// The default for a sequence, which has one row. Tasks are columns, with all channels, when threads then read more of
// their own data than of each other's, or when there are fewer blocks of channels than threads.
RowTasks usual_column_tasks(const ConvShape& c, const Target& target, const ConvBytes& bytes, int64_t channel_blocks) {
  constexpr int64_t kColumnsOfAThread = 16;
  const bool has_columns = c.n < target.threads && c.ow / kColumnsOfAThread >= target.threads;
  const bool is_better = bytes.weights < bytes.input + bytes.output || channel_blocks < target.threads;
  return has_columns && is_better ? RowTasks{true, target.threads} : RowTasks{false, 1};
}

// The factor that a split takes by default.
int64_t nearest_factor(const std::vector<int64_t>& factors, int64_t preferred) {
  const auto distance = [&](int64_t f) {
    return std::fabs(std::log2(static_cast<double>(f) / static_cast<double>(preferred)));
  };
  return *std::min_element(factors.begin(), factors.end(),
                           [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
}

// The knobs of one config in the order in which they are declared, the constraints between them, and the schedule
// that they make.
class DirectConvolution {
 public:
  DirectConvolution(const Workload& w, const Target& target)
      : w_(w),
        target_(target),
        c_(conv_shape(w)),
        layout_(layout_of(w)),
        lanes_(target.lanes(accumulator_bits(w))),
        group_in_(c_.ci / c_.groups),
        group_out_(c_.co / c_.groups),
        element_(dtypes_of(w).in.bytes()),
        weight_bytes_(element_ * c_.co * group_in_ * c_.kh * c_.kw) {}

  void choose(Knobs& knobs) {
    choose_tile(knobs);
    choose_tasks(knobs);
    choose_reduction(knobs);
  }
  void constrain(Knobs& knobs) const;
  std::unique_ptr<Schedule> schedule() const;

 private:
  // Loops of the schedule that several of its parts speak of.
  struct Loops {
    LoopRef tile;  ///< in which the accumulators of one tile are computed
    LoopRef task, ic_o;
    std::optional<LoopRef> reads_ahead;
  };

  void choose_tile(Knobs& knobs);
  void choose_tasks(Knobs& knobs);
  void choose_reduction(Knobs& knobs);

  void schedule_writer(Schedule& s, BlockRef writer, Loops* loops) const;
  BlockRef schedule_sums(Schedule& s, const Definition& d, BlockRef conv, Loops* loops) const;
  void schedule_input(Schedule& s, const Definition& d, const Loops& loops) const;
  void lay_out(Schedule& s, const Definition& d) const;

  ConvBytes bytes() const {
    const auto of_image = [&](int64_t channels, int64_t rows, int64_t columns) {
      return static_cast<double>(element_ * c_.n) * static_cast<double>(channels) * static_cast<double>(rows) *
             static_cast<double>(columns);
    };
    return {of_image(c_.ci, c_.h, c_.w), static_cast<double>(weight_bytes_), of_image(c_.co, c_.oh, c_.ow)};
  }
  // Channels of a run of sums in f16, of all in a block.
  int64_t run_of(int64_t block) const {
    return dtypes_of(w_).f16_runs ? runs_of_channels(group_in_, block, c_.kh * c_.kw).length : group_in_;
  }
  // Rows and columns that tiles compute beyond the image.
  int64_t rows_beyond() const { return oh_[0] * oh_[1] * oh_tile_ - c_.oh; }
  int64_t columns_beyond() const { return columns_[0] * columns_[1] * ow_[1] - c_.ow; }

  const Workload& w_;
  const Target& target_;
  const ConvShape& c_;
  const LayoutChoice& layout_;
  const int64_t lanes_, group_in_, group_out_, element_, weight_bytes_;

  int64_t oc_block_ = 0, ic_block_ = 0;
  int64_t word_ = 0;  ///< neighbouring input channels that one lane's step takes; 1 unless they are blocked
  Split ow_;          ///< tiles, and columns of one
  int64_t oh_tile_ = 0;
  bool by_columns_ = false;  ///< of a sequence, which has one row: tasks are of its columns, where there are threads
  Split oh_, columns_;       ///< tasks, and tiles of one
  int64_t pad_at_ = 0;
  bool oc_inside_ = false;  ///< whether a task runs through the channel blocks of its rows, or is one of them
  int64_t order_ = 0;       ///< of the reduction below the block of input channels: 0 kh kw ic, 1 kh ic kw, 2 ic kh kw
  int64_t ic_unroll_ = 0;
  bool unroll_kw_ = false;
  int64_t vector_bits_ = 0;
  int64_t ic_step_ = 0, step_ = 0;  ///< input channels of a block of weights, and of a run within it
};

void DirectConvolution::choose_tile(Knobs& knobs) {
  constexpr int64_t kMostRows = 4, kUsualColumns = 12;
  SplitRule columns_of_tiles = columns_rule(target_);
  const std::vector<int64_t> widths = split_factors(c_.ow, columns_of_tiles);
  const bool by_lanes = layout_.blocked && multiplies_by_lanes(target_, dtypes_of(w_));
  const auto usual_tile = [&](int64_t vectors) {
    return usual_image_tile(widths, c_.ow, c_.oh, layout_.in_block > 1 && layout_.out_block ? kMostRows : 1, vectors,
                            target_, by_lanes);
  };
  const std::vector<int64_t> channels_of_tiles = channel_tiles(w_, target_, group_out_);
  oc_block_ =
      knobs.choice("oc_block", channels_of_tiles,
                   layout_.out_block ? usual_channel_tile(channels_of_tiles, group_out_, lanes_,
                                                          [&](int64_t vectors) { return usual_tile(vectors).cost; })
                                     : 2 * lanes_);
  ic_block_ = knobs.choice("ic_block",
                           layout_.in_block  ? std::vector<int64_t>{layout_.in_block}
                           : layout_.blocked ? channel_blocks(group_in_, lanes_)
                                             : std::vector<int64_t>{1},
                           16);
  word_ = elements_of_dot(w_, ic_block_, oc_block_);
  const ImageTile usual = usual_tile(registers_of(oc_block_, lanes_));
  columns_of_tiles.prefer = {layout_.out_block || by_lanes ? usual.columns : kUsualColumns};
  // Where the width has few factors, the nearest one may be too wide for the registers: then the widest that is not.
  const int64_t registers = registers_of(oc_block_, lanes_);
  const auto fits = [&](int64_t columns) { return (columns + 1) * registers < target_.vector_registers; };
  if (!layout_.out_block && !by_lanes && !fits(nearest_factor(widths, kUsualColumns)))
    columns_of_tiles.prefer = {*std::find_if(widths.rbegin(), widths.rend(), fits)};
  ow_ = knobs.split("tile_ow", c_.ow, 2, columns_of_tiles);
  oh_tile_ = knobs.choice("tile_oh", {1, 2, 3, 4}, usual.rows);
}

void DirectConvolution::choose_tasks(Knobs& knobs) {
  constexpr int64_t kUsualTasks = 8;
  by_columns_ = c_.oh == 1 && target_.threads > 1;
  const RowTasks tasks =
      (by_columns_ ? &usual_column_tasks : &usual_row_tasks)(c_, target_, bytes(), ceil_div(c_.co, oc_block_));
  const int64_t parts = knobs.thread_choice("tasks_oh", chunk_counts(by_columns_ ? c_.ow : c_.oh),
                                            tasks.all_channels || by_columns_ ? tasks.parts : kUsualTasks);
  oh_ = chunks(ceil_div(c_.oh, oh_tile_), by_columns_ ? 1 : parts);
  columns_ = chunks(ow_[0], by_columns_ ? parts : 1);
  // A copy converts what is read several times; bf16, whose conversion is a shift, is read where it lies.
  constexpr int64_t kSeveralTimes = 4;
  const int64_t reads = ceil_div(c_.co, oc_block_) * c_.kh * c_.kw / (c_.stride_h * c_.stride_w);
  const bool copies = only_widens_input(w_) && dtypes_of(w_).in == f16 && reads >= kSeveralTimes;
  pad_at_ = knobs.choice("pad_at", {kNowhere, kOnce, kInTask}, copies ? kInTask : kNowhere, kPadAtWords);
  oc_inside_ = knobs.thread_choice("oc_inside", {0, 1}, tasks.all_channels || changes_input(w_) ? 1 : 0) != 0;
}

void DirectConvolution::choose_reduction(Knobs& knobs) {
  order_ = knobs.choice("order", {0, 1, 2}, 0, {{0, "kh_kw_ic"}, {1, "kh_ic_kw"}, {2, "ic_kh_kw"}});
  ic_unroll_ = knobs.choice(
      "unroll_ic", {1, 2, 4, 8, 16},
      usual_unrolling(
          std::min(layout_.blocked ? ic_block_ / word_ : group_in_, run_of(layout_.blocked ? ic_block_ : 1)), 4));
  unroll_kw_ = knobs.choice("unroll_kw", {0, 1}, 0) != 0;
  vector_bits_ = choose_vector_bits(knobs, target_);
  ic_step_ = layout_.blocked ? ic_block_ : ic_unroll_;
  step_ = std::min(ic_step_, run_of(ic_step_));
}

void DirectConvolution::constrain(Knobs& knobs) const {
  const int64_t registers = registers_of(oc_block_, vector_bits_ / accumulator_bits(w_)),
                accumulators = oh_tile_ * ow_[1] * registers;
  knobs.require("accumulators leave registers for weights and data",
                accumulators + registers + 1 <= target_.vector_registers);
  knobs.require("the output block fits a vector loop", oc_block_ <= Schedule::kMostLanes);
  knobs.require("input blocks divide the group", group_in_ % ic_step_ == 0);
  knobs.require("output blocks divide the group", c_.groups == 1 || group_out_ % oc_block_ == 0);
  knobs.require("unrolling divides the input block", step_ / word_ % ic_unroll_ == 0);
  knobs.require("rows of a tile exist", oh_tile_ <= c_.oh);
  knobs.require("the unrolled body is small",
                accumulators * ic_unroll_ * (unroll_kw_ ? c_.kw : 1) <= kMostUnrolledWindow);
}

std::unique_ptr<Schedule> DirectConvolution::schedule() const {
  const Definition d = convolution(w_, {rows_beyond() * c_.stride_h, columns_beyond() * c_.stride_w}, ic_step_);
  auto out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = *out;
  const auto [conv, writer] = begin_tile(s, d);
  Loops loops;
  schedule_writer(s, writer, &loops);
  const BlockRef sums = schedule_sums(s, d, conv, &loops);
  schedule_input(s, d, loops);
  channels_innermost(s, conv, 1);
  if (sums.id != conv.id) channels_innermost(s, sums, 2);
  // Half of a thread's input was written by another one a layer before, and is in that core's caches; an image that L2
  // does not hold is in none of them. A line of it meets few multiply-adds where the kernel is 1x1; a block of channels
  // ahead is enough of them.
  const bool comes_from_afar = target_.threads > 1 || bytes().input > static_cast<double>(target_.l2_bytes);
  if (comes_from_afar && c_.kh * c_.kw == 1 && pad_at_ == kNowhere && s.extent(loops.ic_o) > 1 &&
      layout_.in_block > 1 && !prologue_stage(d) && !(loops.reads_ahead && loops.reads_ahead->id == loops.ic_o.id))
    s.annotate(loops.ic_o, "prefetch:data", 1);
  s.parallel(loops.task);
  lay_out(s, d);
  if (word_ > 1) s.tensorize(sums, s.loop(sums, "oc"), dot_intrinsic(w_));
  const std::vector<int64_t> out_shape{c_.n, c_.co, c_.oh, c_.ow};
  lay_out_like(s, d, activation_layout(layout_, layout_.out_block ? layout_.out_block : oc_block_, out_shape));
  s.annotate("vector_bits", vector_bits_);
  return out;
}

// Parallel tasks, then rows, columns and the tile.
void DirectConvolution::schedule_writer(Schedule& s, BlockRef writer, Loops* loops) const {
  const auto axes = s.loops(writer);
  const auto [oc_o, oc_tile] = s.split(axes[1], oc_block_);
  const ChannelTileLoops channels = split_channel_tile(s, oc_tile, layout_);
  const auto rows = s.split(axes[2], std::vector<int64_t>{oh_[0], oh_[1], oh_tile_});
  const auto [ow_all, ow_i] = s.split(axes[3], ow_[1]);
  LoopRef part = rows[0], ow_o = ow_all;
  if (by_columns_) {
    const auto [of_columns, rest] = s.split(ow_all, columns_[1]);
    s.reorder({rows[0], of_columns, rows[1], rest});
    part = s.fuse(rows[0], of_columns), ow_o = rest;
  }
  if (oc_inside_) {
    reorder_tile(s, {axes[0], part, oc_o, rows[1], ow_o}, channels, {rows[2], ow_i});
    loops->task = s.fuse(axes[0], part);
  } else {
    reorder_tile(s, {axes[0], oc_o, part, rows[1], ow_o}, channels, {rows[2], ow_i});
    loops->task = fuse_all(s, {axes[0], oc_o, part});
  }
  vectorize_tile(s, channels);
  s.unroll(ow_i);
  s.unroll(rows[2]);
  loops->tile = ow_o;
}

// The accumulators of one tile.
BlockRef DirectConvolution::schedule_sums(Schedule& s, const Definition& d, BlockRef conv, Loops* loops) const {
  s.compute_at(conv, loops->tile);
  const BlockRef sums = begin_runs(s, d, conv, {"oh", "ow"}, "oc");
  const LoopRef oc = s.loop(sums, "oc"), tile_oh = s.loop(sums, "oh"), tile_ow = s.loop(sums, "ow"),
                kh = s.loop(sums, "kh"), kw = s.loop(sums, "kw");
  const auto [ic_o, ic_rest] = s.split(s.loop(sums, "ic"), step_);
  const auto [ic_words, ic_w] = split_word(s, ic_rest, word_);
  const auto [ic_i, ic_u] = s.split(ic_words, ic_unroll_);
  std::vector<LoopRef> tile_loops{ic_u, tile_oh, tile_ow, oc};
  if (ic_w) tile_loops.push_back(*ic_w);
  const auto reorder_sum = [&](std::vector<LoopRef> outer) {
    outer.insert(outer.end(), tile_loops.begin(), tile_loops.end());
    s.reorder(outer);
  };
  switch (order_) {
    case 0: reorder_sum({ic_o, kh, kw, ic_i}); break;
    case 1: reorder_sum({ic_o, kh, ic_i, kw}); break;
    default: reorder_sum({ic_o, ic_i, kh, kw}); break;
  }
  if (!ic_w) s.vectorize(oc);
  s.unroll(tile_ow);
  s.unroll(tile_oh);
  s.unroll(ic_u);
  if (unroll_kw_) s.unroll(kw);
  if (order_ == 0 || c_.kh * c_.kw == 1)  // the weights' own order
    loops->reads_ahead =
        prefetch_constants(s, {ic_o, kh, kw, ic_i}, "weight", weight_bytes_, ic_unroll_ * word_ * oc_block_ * element_);
  const BlockRef zeros = s.decompose_reduction(sums, ic_o);
  if (ic_w) s.vectorize(s.loop(zeros, "oc"));
  loops->ic_o = ic_o;
  return sums;
}

// The padded input, in place or as a copy.
void DirectConvolution::schedule_input(Schedule& s, const Definition& d, const Loops& loops) const {
  const BlockRef pad = s.block("pad");
  if (pad_at_ == kNowhere) {
    s.compute_inline(pad);
    if (!only_widens_input(w_)) schedule_changed_input(s, d, lanes_, loops.task);
    return;
  }
  if (pad_at_ == kInTask) s.compute_at(pad, loops.task);
  // The few channels of a picture are no vectors; columns are.
  const int64_t pad_block = changes_input(w_) && ic_block_ < lanes_ ? 1 : ic_block_;
  schedule_padding(s, pad, pad_block, lanes_, pad_at_ == kOnce);
  std::vector<int64_t> pad_shape = {c_.n, c_.ci, c_.h + c_.pad_top + c_.pad_bottom + rows_beyond() * c_.stride_h,
                                    c_.w + c_.pad_left + c_.pad_right + columns_beyond() * c_.stride_w};
  s.transform_layout("pad", activation_layout(layout_, pad_block, pad_shape));
}

// Inputs: data in its blocks, weights in the order in which they are read.
void DirectConvolution::lay_out(Schedule& s, const Definition& d) const {
  lay_out_first_input(s, d, activation_layout(layout_, ic_block_, {c_.n, c_.ci, c_.h, c_.w}));
  Layout packed{
      {{0, oc_block_, ceil_div(c_.co, oc_block_)}, {1, ic_step_, group_in_ / ic_step_}, {2, 1, c_.kh}, {3, 1, c_.kw}}};
  append_words(&packed, 1, ic_step_, word_, 0, oc_block_);
  s.transform_layout("weight", packed);
}

}  // namespace

void conv2d_direct(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  DirectConvolution direct(w, target);
  direct.choose(knobs);
  direct.constrain(knobs);
  if (out) *out = direct.schedule();
}

}  // namespace hone
