// Convolution as a matrix product: rows are the pixels of all images in one line, so that a tile of rows needs no tail
// at odd image widths; columns are output channels. The rows of a 1x1 convolution lie in the input as they are; other
// rows are gathered (im2col), by default by each task for its pixels.
#include <algorithm>
#include <memory>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/conv2d.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {
namespace {

// The knobs of one config in the order in which they are declared, the constraints between them, and the schedule
// that they make.
class GemmConvolution {
 public:
  GemmConvolution(const Workload& w, const Target& target)
      : w_(w),
        target_(target),
        c_(conv_shape(w)),
        layout_(layout_of(w)),
        lanes_(target.lanes(accumulator_bits(w))),
        pixels_(c_.n * c_.oh * c_.ow),
        element_(dtypes_of(w).in.bytes()),
        weight_bytes_(element_ * c_.co * c_.ci * c_.kh * c_.kw) {}

  void choose(Knobs& knobs);
  void constrain(Knobs& knobs) const;
  std::unique_ptr<Schedule> schedule() const;

 private:
  void schedule_product(Schedule& s, LoopRef tile) const;
  void schedule_gather(Schedule& s, LoopRef task) const;
  void lay_out(Schedule& s, const Definition& d) const;

  const Workload& w_;
  const Target& target_;
  const ConvShape& c_;
  const LayoutChoice& layout_;
  const int64_t lanes_, pixels_, element_, weight_bytes_;

  int64_t oc_block_ = 0, ic_block_ = 0;
  int64_t word_ = 0;    ///< neighbouring channels that one lane's step takes
  int64_t tile_p_ = 0;  ///< pixels
  Split tasks_;         ///< tasks, and tiles of one
  int64_t gather_ = kNobody;
  bool oc_inside_ = false;  ///< whether a task runs through the channel blocks of its pixels, or is one of them
  int64_t unroll_ic_ = 0;
};

void GemmConvolution::choose(Knobs& knobs) {
  const std::vector<int64_t> tiles{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 20, 24, 28},
      channels_of_tiles = channel_tiles(w_, target_, c_.co);
  const auto usual_pixels = [&](int64_t vectors) { return usual_rows(tiles, pixels_, vectors, target_); };
  oc_block_ = knobs.choice("g_oc_block", channels_of_tiles,
                           usual_channel_tile(channels_of_tiles, c_.co, lanes_, [&](int64_t vectors) {
                             return covering_cost(pixels_, usual_pixels(vectors), vectors);
                           }));
  ic_block_ = knobs.choice(
      "g_ic_block", layout_.in_block ? std::vector<int64_t>{layout_.in_block} : channel_blocks(c_.ci, lanes_), lanes_);
  word_ = elements_of_dot(w_, ic_block_, oc_block_);
  tile_p_ = knobs.choice("g_tile_p", tiles, usual_pixels(registers_of(oc_block_, lanes_)));
  const double row_bytes = static_cast<double>(element_ * pixels_);
  const ConvBytes bytes{row_bytes * static_cast<double>(c_.ci) * static_cast<double>(c_.kh * c_.kw),
                        static_cast<double>(weight_bytes_), row_bytes * static_cast<double>(c_.co)};
  const RowTasks usual = usual_row_tasks(c_, target_, bytes, ceil_div(c_.co, oc_block_));
  constexpr int64_t kUsualTasks = 16;
  tasks_ = chunks(
      ceil_div(pixels_, tile_p_),
      knobs.thread_choice("g_tasks", {1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128}, std::max(usual.parts, kUsualTasks)));
  const bool in_place = reads_pixels_in_place(c_);
  gather_ = knobs.choice(
      "g_gather", in_place ? std::vector<int64_t>{kNobody, kTask, kBefore} : std::vector<int64_t>{kTask, kBefore},
      in_place             ? kNobody
      : usual.all_channels ? kTask
                           : kBefore,
      kGatherWords);
  oc_inside_ = knobs.thread_choice("g_oc_inside", {0, 1}, usual.all_channels ? 1 : 0) != 0;
  unroll_ic_ = knobs.choice("g_unroll_ic", {1, 2, 4, 8}, usual_unrolling(ic_block_ / word_, 4));
}

void GemmConvolution::constrain(Knobs& knobs) const {
  const int64_t registers = registers_of(oc_block_, lanes_), accumulators = tile_p_ * registers;
  knobs.require("accumulators leave registers for weights and data",
                accumulators + registers + 1 <= target_.vector_registers);
  knobs.require("accumulators hide the latency of their sums", accumulators >= 8 || tile_p_ >= pixels_);
  knobs.require("tiles waste little", 3 * (ceil_div(pixels_, tile_p_) * tile_p_ - pixels_) <= pixels_);
  knobs.require("rows are gathered once", gather_ == kNobody || oc_inside_ == (gather_ == kTask));
  knobs.require(
      "gathered rows stay in L2",
      gather_ != kTask || tasks_[1] == 1 || element_ * tile_p_ * tasks_[1] * c_.ci * c_.kh * c_.kw <= target_.l2_bytes);
  knobs.require("the output block fits a vector loop", oc_block_ <= Schedule::kMostLanes);
  knobs.require("input blocks divide the channels", c_.ci % ic_block_ == 0);
  knobs.require("unrolling divides the input block", ic_block_ / word_ % unroll_ic_ == 0);
  knobs.require("the unrolled body is small", accumulators * unroll_ic_ <= kMostUnrolledProduct);
}

std::unique_ptr<Schedule> GemmConvolution::schedule() const {
  const Definition d = gemm_convolution(w_);
  auto out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = *out;
  s.compute_inline(s.block("pad"));
  const PixelLoops loops = schedule_pixels(s, begin_writer(s, d), layout_, oc_block_, {tasks_, tile_p_, oc_inside_});
  s.unroll(loops.pixels);
  schedule_product(s, loops.tile);
  if (gather_ != kNobody)
    schedule_gather(s, loops.task);
  else
    s.compute_inline(s.block("rows"));
  s.parallel(loops.task);
  lay_out(s, d);
  if (word_ > 1) s.tensorize(s.block("product"), s.loop(s.block("product"), "oc"), dot_intrinsic(w_));
  return out;
}

// One register tile of the product.
void GemmConvolution::schedule_product(Schedule& s, LoopRef tile) const {
  const BlockRef product = s.block("product");
  s.set_scope(product, BufferScope::kStack);
  s.compute_at(product, tile);
  const LoopRef p = s.loop(product, "p"), oc = s.loop(product, "oc"), kh = s.loop(product, "kh"),
                kw = s.loop(product, "kw");
  const auto [ic_o, ic_rest] = s.split(s.loop(product, "ic"), ic_block_);
  const auto [ic_words, ic_w] = split_word(s, ic_rest, word_);
  const auto [ic_i, ic_u] = s.split(ic_words, unroll_ic_);
  std::vector<LoopRef> order{ic_o, kh, kw, ic_i, ic_u, p, oc};
  if (ic_w) order.push_back(*ic_w);
  s.reorder(order);
  if (!ic_w) s.vectorize(oc);
  s.unroll(p);
  s.unroll(ic_u);
  prefetch_constants(s, {ic_o, kh, kw, ic_i}, "weight", weight_bytes_, unroll_ic_ * word_ * oc_block_ * element_);
  const BlockRef zeros = s.decompose_reduction(product, ic_o);
  if (ic_w) s.vectorize(s.loop(zeros, "oc"));
}

// Gathers the rows of one task, or of all, in the layout that the product reads.
void GemmConvolution::schedule_gather(Schedule& s, LoopRef task) const {
  const BlockRef rows = s.block("rows");
  if (gather_ == kTask) s.compute_at(rows, task);
  const LoopRef p = s.loop(rows, "p"), y = s.loop(rows, "kh"), x = s.loop(rows, "kw");
  const auto [ic_o, ic_i] = s.split(s.loop(rows, "ic"), ic_block_);
  s.reorder({p, ic_o, y, x, ic_i});
  s.vectorize(ic_i);
  if (gather_ == kBefore) s.parallel(p);
  s.transform_layout("rows", Layout{{{0, tile_p_, ceil_div(pixels_, tile_p_)},
                                     {1, ic_block_, c_.ci / ic_block_},
                                     {2, 1, c_.kh},
                                     {3, 1, c_.kw},
                                     {0, 1, tile_p_},
                                     {1, 1, ic_block_}}});
}

void GemmConvolution::lay_out(Schedule& s, const Definition& d) const {
  lay_out_first_input(s, d, activation_layout(layout_, ic_block_, {c_.n, c_.ci, c_.h, c_.w}));
  Layout packed{
      {{0, oc_block_, ceil_div(c_.co, oc_block_)}, {1, ic_block_, c_.ci / ic_block_}, {2, 1, c_.kh}, {3, 1, c_.kw}}};
  append_words(&packed, 1, ic_block_, word_, 0, oc_block_);
  s.transform_layout("weight", packed);
  const std::vector<int64_t> out_shape{c_.n, c_.co, c_.oh, c_.ow};
  lay_out_like(s, d, activation_layout(layout_, layout_.out_block ? layout_.out_block : oc_block_, out_shape));
}

}  // namespace

void conv2d_gemm(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  GemmConvolution gemm(w, target);
  gemm.choose(knobs);
  gemm.constrain(knobs);
  if (out) *out = gemm.schedule();
}

}  // namespace hone
