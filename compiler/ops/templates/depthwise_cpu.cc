// Depthwise convolution: one vector holds a block of channels of one output; a tile of columns stays in registers while the kernel's few
// taps run.
#include "compiler/ops/definition.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/template.h"

namespace hone {

void depthwise_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape c = conv_shape(w);
  const LayoutChoice layout = layout_choice(w.text("layout"));
  const int64_t lanes = target.f32_lanes();
  HONE_USER_CHECK(layout.in_block == layout.out_block) << "depthwise_conv2d: layout " << w.text("layout") << " has different blocks for input and output";

  const int64_t block = knobs.choice("c_block", layout.in_block ? std::vector<int64_t>{layout.in_block} : vector_blocks(c.co, lanes, c.co), lanes);
  const Split ow = knobs.split("tile_ow", c.ow, 2, {.max_inner = {16}, .prefer = {7}});
  const int64_t oh_tile = knobs.choice("tile_oh", {1, 2, 4}, 1);
  const Split oh = knobs.split("task_oh", ceil_div(c.oh, oh_tile), 2, {.prefer = {8}});
  const int64_t pad_at = knobs.choice("pad_at", {0, 1, 2}, 2);  // 0 not at all, 1 once for all, 2 by each task
  const bool unroll_kh = knobs.choice("unroll_kh", {0, 1}, 1) != 0;
  const bool unroll_kw = knobs.choice("unroll_kw", {0, 1}, 1) != 0;
  const int64_t vector_bits = knobs.choice("vector_bits", target.vector_bits > 256 ? std::vector<int64_t>{256, target.vector_bits} : std::vector<int64_t>{target.vector_bits}, target.vector_bits);

  const bool padded = c.pad_top + c.pad_left + c.pad_bottom + c.pad_right > 0;
  const bool tails = c.ow % ow[1] != 0 || c.oh % (oh_tile * oh[1]) != 0 || c.co % block != 0;
  const int64_t accumulators = oh_tile * ow[1] * registers_of(block, vector_bits / 32);
  knobs.require("accumulators leave registers for weights and data", accumulators + registers_of(block, vector_bits / 32) + 1 <= target.vector_registers);
  knobs.require("the channel block fits a vector loop", block <= 64);
  knobs.require("padding and tails need a padded copy", pad_at != 0 || (!padded && !tails));
  knobs.require("rows of a tile exist", oh_tile <= c.oh);
  knobs.require("the unrolled body is small", accumulators * (unroll_kh ? c.kh : 1) * (unroll_kw ? c.kw : 1) <= 768);
  if (!out) return;

  const PadSlack slack{(oh[0] * oh[1] * oh_tile - c.oh) * c.stride_h, (ow[0] * ow[1] - c.ow) * c.stride_w};
  const Definition d = convolution(w, slack);
  *out = std::make_unique<Schedule>(d.inputs, d.output);
  Schedule& s = **out;
  const BlockRef pad = s.block("pad"), conv = s.block("conv");
  const bool epilogue = d.output->name != "conv";
  const BlockRef writer = epilogue ? s.block("out") : s.cache_write(conv, BufferScope::kStack);
  if (epilogue) s.set_scope(conv, BufferScope::kStack);

  const auto axes = s.loops(writer);
  const auto [c_o, c_i] = s.split(axes[1], block);
  const auto rows = s.split(axes[2], std::vector<int64_t>{oh[0], oh[1], oh_tile});
  const auto [ow_o, ow_i] = s.split(axes[3], ow[1]);
  s.reorder({axes[0], c_o, rows[0], rows[1], ow_o, rows[2], ow_i, c_i});
  const LoopRef task = fuse_all(s, {axes[0], c_o, rows[0]});
  s.vectorize(c_i);
  s.unroll(ow_i);
  s.unroll(rows[2]);

  s.compute_at(conv, ow_o);
  const LoopRef oc = s.loop(conv, "oc"), tile_oh = s.loop(conv, "oh"), tile_ow = s.loop(conv, "ow"), ic = s.loop(conv, "ic"), kh = s.loop(conv, "kh"), kw = s.loop(conv, "kw");
  s.reorder({ic, kh, kw, tile_oh, tile_ow, oc});
  s.vectorize(oc);
  s.unroll(tile_ow);
  s.unroll(tile_oh);
  if (unroll_kw) s.unroll(kw);
  if (unroll_kh) s.unroll(kh);
  s.decompose_reduction(conv, ic);

  if (pad_at == 0) {
    s.compute_inline(pad);
  } else {
    if (pad_at == 2) s.compute_at(pad, task);
    const LoopRef n = s.loop(pad, "n"), y = s.loop(pad, "y"), x = s.loop(pad, "x");
    const auto [p_o, p_i] = s.split(s.loop(pad, "c"), block);
    s.reorder({n, p_o, y, x, p_i});
    s.vectorize(p_i);
    if (pad_at == 1) s.parallel(fuse_all(s, {n, p_o, y}));
    s.transform_layout("pad", activation_layout(layout, block, {c.n, c.ci, c.h + c.pad_top + c.pad_bottom + slack.h, c.w + c.pad_left + c.pad_right + slack.w}));
  }
  channels_innermost(s, conv, 1);
  s.parallel(task);
  s.transform_layout("data", activation_layout(layout, block, {c.n, c.ci, c.h, c.w}));
  s.transform_layout("weight", Layout{{{0, block, ceil_div(c.co, block)}, {1, 1, 1}, {2, 1, c.kh}, {3, 1, c.kw}, {0, 1, block}}});
  const std::vector<int64_t> out_shape{c.n, c.co, c.oh, c.ow};
  s.transform_layout(d.output->name, activation_layout(layout, block, out_shape));
  if (w.text("epilogue").find("add") != std::string::npos) s.transform_layout("residual", activation_layout(layout, block, out_shape));
  s.annotate("vector_bits", vector_bits);
}

}  // namespace hone
