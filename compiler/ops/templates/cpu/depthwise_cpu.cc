// Depthwise convolution: a tile of outputs stays in registers while the kernel's few taps run. Only rows of the input
// are reused, so the input is read in place: taps that fall on padding are skipped, and legalize peels the tiles at the
// borders. A vector is a block of channels of one output or, where channels are planes (NCHW), neighbouring outputs of
// a row.
#include <algorithm>
#include <memory>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {
namespace {

// The knobs of one config in the order in which they are declared, the constraints between them, and the schedule
// that they make.
class DepthwiseConvolution {
 public:
  DepthwiseConvolution(const Workload& w, const Target& target)
      : w_(w),
        target_(target),
        c_(conv_shape(w)),
        layout_(layout_of(w)),
        lanes_(target.lanes(accumulator_bits(w))),
        planes_(layout_.in == "NCHW"),
        channels_last_(layout_.in == "NHWC") {}

  void choose(Knobs& knobs);
  void constrain(Knobs& knobs) const;
  std::unique_ptr<Schedule> schedule() const;

 private:
  // Two loops of the writer: the one where a tile is computed, and the one whose iterations are a thread's tasks.
  struct Loops {
    LoopRef tile, task;
  };
  Loops schedule_writer(Schedule& s, BlockRef writer) const;
  void schedule_sums(Schedule& s, BlockRef conv, LoopRef tile) const;
  void schedule_copy(Schedule& s, LoopRef task) const;
  void lay_out(Schedule& s, const Definition& d) const;

  // Whether the taps of a row are multiplied four at a time, by the dot products of bytes.
  bool in_words() const {
    return !planes_ && c_.dilation_w == 1 && elements_of_dot(w_, kDotBytes, block_) == kDotBytes;
  }
  int64_t words_of_row() const { return ceil_div(c_.kw, kDotBytes); }
  // Rows and columns that tiles read beyond the image.
  PadSlack tile_slack() const {
    return {(oh_[0] * oh_[1] * oh_tile_ - c_.oh) * c_.stride_h, (ow_[0] * ow_[1] - c_.ow) * c_.stride_w};
  }
  // The same, with the columns that whole words read beyond it.
  PadSlack slack() const {
    PadSlack out = tile_slack();
    if (in_words()) out.w += words_of_row() * kDotBytes - c_.kw;
    return out;
  }

  const Workload& w_;
  const Target& target_;
  const ConvShape& c_;
  const LayoutChoice& layout_;
  const int64_t lanes_;
  const bool planes_;         ///< NCHW: vectors run along rows
  const bool channels_last_;  ///< NHWC: a task is some rows of all channels, which are contiguous in memory

  int64_t block_ = 0;        ///< channels
  bool rows_outer_ = false;  ///< tasks are some rows of a channel block, those of the same rows together
  Split ow_, oh_;            ///< tiles and columns of a tile; tasks and tiles of rows
  int64_t oh_tile_ = 0;
  bool copy_pad_ = false;  ///< a padded copy of a task's input
  bool unroll_kh_ = false, unroll_kw_ = false;
  int64_t vector_bits_ = 0;
  int64_t partition_ = 0;  ///< of tasks: a range for each thread, or claimed one at a time
};

void DepthwiseConvolution::choose(Knobs& knobs) {
  const std::vector<int64_t> blocks = layout_.in_block ? std::vector<int64_t>{layout_.in_block}
                                      : planes_        ? std::vector<int64_t>{1}
                                                       : vector_blocks(c_.co, lanes_, c_.co);
  block_ = knobs.choice("c_block", blocks, lanes_);
  if (planes_) {
    const int64_t width = knobs.choice("tile_ow", vector_blocks(c_.ow, lanes_, c_.ow), lanes_);
    ow_ = {ceil_div(c_.ow, width), width};
  } else {
    ow_ = knobs.split("tile_ow", c_.ow, 2, {.max_inner = {16}, .prefer = {7}});
  }
  oh_tile_ = knobs.choice("tile_oh", {1, 2, 3, 4, 7}, 2);
  const int64_t other_tasks = c_.n * (channels_last_ ? 1 : ceil_div(c_.co, lanes_));
  rows_outer_ =
      knobs.thread_choice("rows_outer",
                          target_.threads > 1 && !channels_last_ ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          gives_rows_to_threads(c_, target_, 0, 1) ? 1 : 0) != 0;
  oh_ = chunks(ceil_div(c_.oh, oh_tile_),
               knobs.thread_choice("tasks_oh", chunk_counts(c_.oh),
                                   rows_outer_ ? target_.threads : ceil_div(target_.threads, other_tasks)));
  copy_pad_ = knobs.choice("copy_pad", {0, 1}, 0) != 0;
  unroll_kh_ = knobs.choice("unroll_kh", {0, 1}, 1) != 0;
  unroll_kw_ = knobs.choice("unroll_kw", {0, 1}, 1) != 0;
  vector_bits_ = choose_vector_bits(knobs, target_);
  partition_ = knobs.thread_choice("partition", {0, 1}, 0, kPartitionWords);
}

void DepthwiseConvolution::constrain(Knobs& knobs) const {
  const int64_t lanes = vector_bits_ / accumulator_bits(w_),
                row = planes_ ? registers_of(ow_[1], lanes) : ow_[1] * registers_of(block_, lanes);
  knobs.require("accumulators leave registers for weights and data", oh_tile_ * row + 2 <= target_.vector_registers);
  knobs.require("the channel block fits a vector loop", block_ <= Schedule::kMostLanes);
  knobs.require("rows of a tile exist", oh_tile_ <= c_.oh);
  knobs.require("the unrolled body is small",
                oh_tile_ * row * (unroll_kh_ ? c_.kh : 1) * (unroll_kw_ ? c_.kw : 1) <= kMostUnrolledWindow);
}

std::unique_ptr<Schedule> DepthwiseConvolution::schedule() const {
  const Definition d = in_words() ? depthwise_convolution_in_words(w_, tile_slack()) : convolution(w_, slack());
  auto out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = *out;
  const auto [conv, writer] = begin_tile(s, d);
  const Loops loops = schedule_writer(s, writer);
  schedule_sums(s, conv, loops.tile);
  if (copy_pad_)
    schedule_copy(s, loops.task);
  else
    s.compute_inline(s.block("pad"));
  if (!planes_) channels_innermost(s, conv, 1);
  s.parallel(loops.task);
  lay_out(s, d);
  if (in_words()) s.tensorize(conv, s.loop(conv, "oc"), kDotEachIntrinsic);
  s.annotate("vector_bits", vector_bits_);
  s.annotate("partition", partition_);
  return out;
}

DepthwiseConvolution::Loops DepthwiseConvolution::schedule_writer(Schedule& s, BlockRef writer) const {
  const auto axes = s.loops(writer);
  const auto [c_o, c_i] = s.split(axes[1], block_);
  const auto rows = s.split(axes[2], std::vector<int64_t>{oh_[0], oh_[1], oh_tile_});
  const auto [ow_o, ow_i] = s.split(axes[3], ow_[1]);
  const LoopRef outer = planes_ ? c_i : ow_i, vector = planes_ ? ow_i : c_i;
  LoopRef task;
  if (channels_last_) {
    s.reorder({axes[0], rows[0], rows[1], ow_o, c_o, rows[2], outer, vector});
    task = s.fuse(axes[0], rows[0]);
  } else if (rows_outer_) {
    s.reorder({axes[0], rows[0], c_o, rows[1], ow_o, rows[2], outer, vector});
    task = fuse_all(s, {axes[0], rows[0], c_o});
  } else {
    s.reorder({axes[0], c_o, rows[0], rows[1], ow_o, rows[2], outer, vector});
    task = fuse_all(s, {axes[0], c_o, rows[0]});
  }
  s.vectorize(vector);
  s.unroll(outer);
  s.unroll(rows[2]);
  return {channels_last_ ? c_o : ow_o, task};
}

// The accumulators of one tile.
void DepthwiseConvolution::schedule_sums(Schedule& s, BlockRef conv, LoopRef tile) const {
  s.compute_at(conv, tile);
  const LoopRef oc = s.loop(conv, "oc"), tile_oh = s.loop(conv, "oh"), tile_ow = s.loop(conv, "ow"),
                ic = s.loop(conv, "ic"), kh = s.loop(conv, "kh"), kw = s.loop(conv, "kw");
  // Makes it known outside of the loops over columns whether a row is padding.
  const auto [columns, column] = split_word(s, kw, in_words() ? kDotBytes : 1);
  std::vector<LoopRef> order{ic, kh, tile_oh, columns, planes_ ? oc : tile_ow, planes_ ? tile_ow : oc};
  if (column) order.push_back(*column);
  s.reorder(order);
  if (!column) s.vectorize(planes_ ? tile_ow : oc);
  s.unroll(planes_ ? oc : tile_ow);
  s.unroll(tile_oh);
  if (unroll_kw_) s.unroll(columns);
  if (unroll_kh_) s.unroll(kh);
  const BlockRef zeros = s.decompose_reduction(conv, ic);
  if (column) s.vectorize(s.loop(zeros, "oc"));
}

// The padded copy of a task's input, a vector of channels or of columns at a time.
void DepthwiseConvolution::schedule_copy(Schedule& s, LoopRef task) const {
  const BlockRef pad = s.block("pad");
  s.compute_at(pad, task);
  const LoopRef n = s.loop(pad, "n"), y = s.loop(pad, "y"), column = s.loop(pad, "x");
  if (planes_) {
    s.vectorize(s.split(column, std::min(lanes_, s.extent(column))).second);
  } else {
    const auto [c_o, c_i] = s.split(s.loop(pad, "c"), block_);
    s.reorder({n, c_o, y, column, c_i});
    s.vectorize(c_i);
  }
  const PadSlack beyond = slack();
  s.transform_layout("pad", activation_layout(layout_, block_,
                                              {c_.n, c_.ci, c_.h + c_.pad_top + c_.pad_bottom + beyond.h,
                                               c_.w + c_.pad_left + c_.pad_right + beyond.w}));
}

void DepthwiseConvolution::lay_out(Schedule& s, const Definition& d) const {
  lay_out_first_input(s, d, activation_layout(layout_, block_, {c_.n, c_.ci, c_.h, c_.w}));
  Layout packed{{{0, block_, ceil_div(c_.co, block_)}, {1, 1, 1}, {2, 1, c_.kh}}};
  append_words(&packed, 3, in_words() ? words_of_row() * kDotBytes : c_.kw, in_words() ? kDotBytes : 1, 0, block_);
  s.transform_layout(in_words() ? "words" : "weight", packed);
  if (in_words()) s.prepack(s.block("words"));
  const std::vector<int64_t> out_shape{c_.n, c_.co, c_.oh, c_.ow};
  lay_out_like(s, d, activation_layout(layout_, block_, out_shape));
}

}  // namespace

void depthwise_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const LayoutChoice& layout = layout_of(w);
  HONE_USER_CHECK(layout.in_block == layout.out_block)
      << "depthwise_conv2d: layout " << w.attributes.text("layout") << " has different blocks for input and output";
  DepthwiseConvolution depthwise(w, target);
  depthwise.choose(knobs);
  depthwise.constrain(knobs);
  if (out) *out = depthwise.schedule();
}

}  // namespace hone
