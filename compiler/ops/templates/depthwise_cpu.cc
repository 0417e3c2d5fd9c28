// Depthwise convolution: a tile of outputs stays in registers while the kernel's few taps run. Only rows of the input
// are reused, so the input is read in place: taps that fall on padding are skipped, and legalize peels the tiles at the
// borders. A vector is a block of channels of one output or, where channels are planes (NCHW), neighbouring outputs of
// a row.
#include "compiler/ops/conv_shape.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

struct DepthwiseChoices {
  bool planes;         // NCHW: vectors run along rows
  bool channels_last;  // NHWC: a task is some rows of all channels, which are contiguous in memory
  int64_t block;       // channels
  bool rows_outer;     // tasks are some rows of a channel block, those of the same rows together
  Split ow, oh;        // tiles and columns of a tile; tasks and tiles of rows
  int64_t oh_tile;
  bool copy_pad, unroll_kh, unroll_kw;
  int64_t vector_bits;
  int64_t partition;  // of tasks: a range for each thread, or claimed one at a time
};

DepthwiseChoices choose_depthwise(const Workload& w, const Target& target, Knobs& knobs) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  const int64_t lanes = target.lanes(accumulator_bits(w));
  DepthwiseChoices x;
  x.planes = layout.in == "NCHW";
  x.channels_last = layout.in == "NHWC";
  const std::vector<int64_t> blocks = layout.in_block ? std::vector<int64_t>{layout.in_block}
                                      : x.planes      ? std::vector<int64_t>{1}
                                                      : vector_blocks(c.co, lanes, c.co);
  x.block = knobs.choice("c_block", blocks, lanes);
  if (x.planes) {
    const int64_t width = knobs.choice("tile_ow", vector_blocks(c.ow, lanes, c.ow), lanes);
    x.ow = {ceil_div(c.ow, width), width};
  } else {
    x.ow = knobs.split("tile_ow", c.ow, 2, {.max_inner = {16}, .prefer = {7}});
  }
  x.oh_tile = knobs.choice("tile_oh", {1, 2, 3, 4, 7}, 2);
  const int64_t other_tasks = c.n * (x.channels_last ? 1 : ceil_div(c.co, lanes));
  x.rows_outer =
      knobs.thread_choice("rows_outer",
                          target.threads > 1 && !x.channels_last ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          gives_rows_to_threads(c, target, 0, 1) ? 1 : 0) != 0;
  x.oh = chunks(ceil_div(c.oh, x.oh_tile),
                knobs.thread_choice("tasks_oh", chunk_counts(c.oh),
                                    x.rows_outer ? target.threads : ceil_div(target.threads, other_tasks)));
  x.copy_pad = knobs.choice("copy_pad", {0, 1}, 0) != 0;  // a padded copy of what a task reads
  x.unroll_kh = knobs.choice("unroll_kh", {0, 1}, 1) != 0;
  x.unroll_kw = knobs.choice("unroll_kw", {0, 1}, 1) != 0;
  x.vector_bits = choose_vector_bits(knobs, target);
  x.partition = knobs.thread_choice("partition", {0, 1}, 0, kPartitionWords);

  const int64_t row = x.planes ? registers_of(x.ow[1], x.vector_bits / accumulator_bits(w))
                               : x.ow[1] * registers_of(x.block, x.vector_bits / accumulator_bits(w));
  knobs.require("accumulators leave registers for weights and data", x.oh_tile * row + 2 <= target.vector_registers);
  knobs.require("the channel block fits a vector loop", x.block <= Schedule::kMostLanes);
  knobs.require("rows of a tile exist", x.oh_tile <= c.oh);
  knobs.require("the unrolled body is small",
                x.oh_tile * row * (x.unroll_kh ? c.kh : 1) * (x.unroll_kw ? c.kw : 1) <= kMostUnrolledWindow);
  return x;
}

// The padded copy of what a task reads, a vector of channels or of columns at a time.
void schedule_copy(Schedule& s, BlockRef pad, const DepthwiseChoices& x, int64_t lanes, LoopRef task) {
  s.compute_at(pad, task);
  const LoopRef n = s.loop(pad, "n"), y = s.loop(pad, "y"), column = s.loop(pad, "x");
  if (x.planes) {
    s.vectorize(s.split(column, std::min(lanes, s.extent(column))).second);
    return;
  }
  const auto [c_o, c_i] = s.split(s.loop(pad, "c"), x.block);
  s.reorder({n, c_o, y, column, c_i});
  s.vectorize(c_i);
}

}  // namespace

void depthwise_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  HONE_USER_CHECK(layout.in_block == layout.out_block)
      << "depthwise_conv2d: layout " << w.attributes.text("layout") << " has different blocks for input and output";
  const DepthwiseChoices x = choose_depthwise(w, target, knobs);
  if (!out) return;

  const PadSlack tile_slack{(x.oh[0] * x.oh[1] * x.oh_tile - c.oh) * c.stride_h,
                            (x.ow[0] * x.ow[1] - c.ow) * c.stride_w};
  PadSlack slack = tile_slack;
  const bool in_words = !x.planes && c.dilation_w == 1 && elements_of_dot(w, kDotBytes, x.block) == kDotBytes;
  if (in_words) slack.w += ceil_div(c.kw, kDotBytes) * kDotBytes - c.kw;
  const Definition d = in_words ? depthwise_convolution_in_words(w, tile_slack) : convolution(w, slack);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const BlockRef pad = s.block("pad");
  const auto [conv, writer] = begin_tile(s, d);

  const auto axes = s.loops(writer);
  const auto [c_o, c_i] = s.split(axes[1], x.block);
  const auto rows = s.split(axes[2], std::vector<int64_t>{x.oh[0], x.oh[1], x.oh_tile});
  const auto [ow_o, ow_i] = s.split(axes[3], x.ow[1]);
  const LoopRef outer = x.planes ? c_i : ow_i, vector = x.planes ? ow_i : c_i;
  LoopRef task;
  if (x.channels_last) {
    s.reorder({axes[0], rows[0], rows[1], ow_o, c_o, rows[2], outer, vector});
    task = s.fuse(axes[0], rows[0]);
  } else if (x.rows_outer) {
    s.reorder({axes[0], rows[0], c_o, rows[1], ow_o, rows[2], outer, vector});
    task = fuse_all(s, {axes[0], rows[0], c_o});
  } else {
    s.reorder({axes[0], c_o, rows[0], rows[1], ow_o, rows[2], outer, vector});
    task = fuse_all(s, {axes[0], c_o, rows[0]});
  }
  s.vectorize(vector);
  s.unroll(outer);
  s.unroll(rows[2]);

  s.compute_at(conv, x.channels_last ? c_o : ow_o);
  const LoopRef oc = s.loop(conv, "oc"), tile_oh = s.loop(conv, "oh"), tile_ow = s.loop(conv, "ow"),
                ic = s.loop(conv, "ic"), kh = s.loop(conv, "kh"), kw = s.loop(conv, "kw");
  // Makes it known outside of the loops over columns whether a row is padding.
  const auto [columns, column] = split_word(s, kw, in_words ? kDotBytes : 1);
  std::vector<LoopRef> order{ic, kh, tile_oh, columns, x.planes ? oc : tile_ow, x.planes ? tile_ow : oc};
  if (column) order.push_back(*column);
  s.reorder(order);
  if (!column) s.vectorize(x.planes ? tile_ow : oc);
  s.unroll(x.planes ? oc : tile_ow);
  s.unroll(tile_oh);
  if (x.unroll_kw) s.unroll(columns);
  if (x.unroll_kh) s.unroll(kh);
  const BlockRef zeros = s.decompose_reduction(conv, ic);
  if (column) s.vectorize(s.loop(zeros, "oc"));

  if (x.copy_pad) {
    schedule_copy(s, pad, x, target.lanes(accumulator_bits(w)), task);
    s.transform_layout("pad", activation_layout(layout, x.block,
                                                {c.n, c.ci, c.h + c.pad_top + c.pad_bottom + slack.h,
                                                 c.w + c.pad_left + c.pad_right + slack.w}));
  } else {
    s.compute_inline(pad);
  }
  if (!x.planes) channels_innermost(s, conv, 1);
  s.parallel(task);
  lay_out_first_input(s, d, activation_layout(layout, x.block, {c.n, c.ci, c.h, c.w}));
  Layout packed{{{0, x.block, ceil_div(c.co, x.block)}, {1, 1, 1}, {2, 1, c.kh}}};
  append_words(&packed, 3, in_words ? ceil_div(c.kw, kDotBytes) * kDotBytes : c.kw, in_words ? kDotBytes : 1, 0,
               x.block);
  s.transform_layout(in_words ? "words" : "weight", packed);
  if (in_words) s.prepack(s.block("words"));
  const std::vector<int64_t> out_shape{c.n, c.co, c.oh, c.ow};
  lay_out_like(s, d, activation_layout(layout, x.block, out_shape));
  if (column) s.tensorize(conv, oc, kDotEachIntrinsic);
  s.annotate("vector_bits", x.vector_bits);
  s.annotate("partition", x.partition);
}

}  // namespace hone
