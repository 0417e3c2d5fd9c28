// Convolution on vector registers of blocks of sums (Arm's matrix instructions), as a matrix product (conv2d_gemm.cc):
// a block of sums, some registers of pixels high and of channels wide, stays in registers while the window and the
// input channels run. Rows of a 1x1 convolution are read where the image has them, if a pixel's channels lie together
// and blocks of pixels have no tail; others are gathered into panels of whole registers, with zeros behind the end and
// at the border.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/conv2d.h"
#include "compiler/ops/templates/cpu/nest_block.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {
namespace {

class BlockConvolution {
 public:
  BlockConvolution(const Workload& w, const Target& target, const MatrixUnit& unit)
      : w_(w),
        target_(target),
        unit_(unit),
        c_(conv_shape(w)),
        layout_(layout_of(w)),
        pixels_(c_.n * c_.oh * c_.ow),
        element_(dtypes_of(w).in.bytes()) {}

  void choose(Knobs& knobs);
  std::unique_ptr<Schedule> schedule() const;

 private:
  LoopRef schedule_product(Schedule& s, LoopRef block) const;
  void schedule_gather(Schedule& s, LoopRef task) const;
  void lay_out(Schedule& s, const Definition& d) const;

  int64_t height() const { return block_.height(); }
  int64_t width() const { return block_.width(); }
  // Channels of a block of the input whose layout the config may choose: several steps, so that pixels are gathered in
  // few parts.
  int64_t own_block() const { return std::gcd(c_.ci, kDepthsOfBlock * unit_.depth); }
  // Channels of the input that are neighbours in memory.
  int64_t neighbours() const { return layout_.in_block ? layout_.in_block : layout_.blocked ? own_block() : c_.ci; }

  static constexpr int64_t kDepthsOfBlock = 2;

  const Workload& w_;
  const Target& target_;
  const MatrixUnit& unit_;
  const ConvShape& c_;
  const LayoutChoice& layout_;
  const int64_t pixels_, element_;

  NestBlock block_;
  Split tasks_;  ///< tasks of pixels, and blocks of one
  int64_t gather_ = kTask;
  bool oc_inside_ = true;  ///< whether a task runs through the channels of its pixels, or has one block of them
};

void BlockConvolution::choose(Knobs& knobs) {
  // Those of a window are a loop of their own between steps of channels.
  const int64_t steps = c_.kh * c_.kw > 1 ? 1 : c_.ci / unit_.depth;
  block_ = choose_block(unit_, {.rows = pixels_, .columns = c_.co, .steps = steps, .together = layout_.out_block},
                        {.block = "m_block", .unroll = "m_unroll_ic"}, knobs);
  // A task's gathered rows, which all channels meet, stay in half of L2.
  const int64_t row_bytes = element_ * c_.ci * c_.kh * c_.kw,
                rows_in_l2 = std::max<int64_t>(height(), target_.l2_bytes / 2 / row_bytes),
                most_tasks = std::max<int64_t>(1, ceil_div(pixels_, height()));
  tasks_ = chunks(most_tasks, knobs.thread_choice("m_tasks", chunk_counts(ceil_div(pixels_, unit_.rows)),
                                                  std::max<int64_t>(ceil_div(pixels_, rows_in_l2), target_.threads)));
  const bool may_read_in_place = reads_pixels_in_place(c_) && neighbours() % unit_.depth == 0 && !changes_input(w_),
             is_whole = pixels_ % height() == 0;
  const bool is_read_often = ceil_div(c_.co, width()) >= kReadsThatPayACopy;
  gather_ = knobs.choice(
      "m_gather",
      may_read_in_place ? std::vector<int64_t>{kNobody, kTask, kBefore} : std::vector<int64_t>{kTask, kBefore},
      may_read_in_place && is_whole && !is_read_often ? kNobody : kTask, kGatherWords);
  oc_inside_ = knobs.thread_choice("m_oc_inside", {0, 1}, 1) != 0;
  knobs.require("rows that a task does not gather itself fill whole blocks", gather_ == kTask || is_whole);
  knobs.require("rows are gathered once", gather_ == kNobody || oc_inside_ == (gather_ == kTask));
  knobs.require("blocks of channels are those of the layout, or parts of them",
                !layout_.out_block || width() % layout_.out_block == 0 || layout_.out_block % width() == 0);
}

std::unique_ptr<Schedule> BlockConvolution::schedule() const {
  const Definition d = gemm_convolution(w_);
  auto out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = *out;
  s.compute_inline(s.block("pad"));
  const PixelLoops loops = schedule_pixels(s, begin_writer(s, d), layout_, width(), {tasks_, height(), oc_inside_});
  s.unroll(loops.pixels);
  const LoopRef row = schedule_product(s, loops.tile);
  if (gather_ != kNobody)
    schedule_gather(s, loops.task);
  else
    s.compute_inline(s.block("rows"));
  s.parallel(loops.task);
  lay_out(s, d);
  s.tensorize(s.block("product"), row, unit_.name);
  return out;
}

// One block of sums. Returns the loop over rows of a register, the outermost one of a nest.
LoopRef BlockConvolution::schedule_product(Schedule& s, LoopRef block) const {
  const BlockRef product = s.block("product");
  s.set_scope(product, BufferScope::kStack);
  s.compute_at(product, block);
  const auto [p_o, p_i] = s.split(s.loop(product, "p"), unit_.rows);
  const auto [oc_o, oc_i] = s.split(s.loop(product, "oc"), unit_.columns);
  schedule_steps(s, product, s.loop(product, "ic"), {s.loop(product, "kh"), s.loop(product, "kw")},
                 {p_o, oc_o, p_i, oc_i}, block_);
  return p_i;
}

// Gathers the rows of one task, or of all, in panels: [panels][steps of channels][window][rows][depth].
void BlockConvolution::schedule_gather(Schedule& s, LoopRef task) const {
  const BlockRef rows = s.block("rows");
  if (gather_ == kTask) s.compute_at(rows, task);
  const LoopRef p = s.loop(rows, "p"), y = s.loop(rows, "kh"), x = s.loop(rows, "kw");
  const int64_t vector = std::gcd(neighbours(), unit_.depth);
  // The parts of a pixel are small where a register is: whether it lies on the border is asked once for them.
  constexpr int64_t kMostParts = 4;
  const auto ic =
      s.split(s.loop(rows, "ic"), std::vector<int64_t>{0, std::gcd(neighbours() / vector, kMostParts), vector});
  s.reorder({p, y, x, ic[0], ic[1], ic[2]});
  s.unroll(ic[1]);
  s.vectorize(ic[2]);
  if (gather_ == kBefore) s.parallel(p);
  s.transform_layout("rows", Layout{{{0, height(), tasks_[0] * tasks_[1]},
                                     {1, unit_.depth, c_.ci / unit_.depth},
                                     {2, 1, c_.kh},
                                     {3, 1, c_.kw},
                                     {0, 1, height()},
                                     {1, 1, unit_.depth}}});
}

void BlockConvolution::lay_out(Schedule& s, const Definition& d) const {
  lay_out_first_input(
      s, d, activation_layout(layout_, layout_.in_block ? layout_.in_block : own_block(), {c_.n, c_.ci, c_.h, c_.w}));
  // A step is one word.
  s.transform_layout("weight", Layout{{{0, width(), ceil_div(c_.co, width())},
                                       {1, unit_.depth, c_.ci / unit_.depth},
                                       {2, 1, c_.kh},
                                       {3, 1, c_.kw},
                                       {0, 1, width()},
                                       {1, 1, unit_.depth}}});
  const std::vector<int64_t> out_shape{c_.n, c_.co, c_.oh, c_.ow};
  lay_out_like(s, d, activation_layout(layout_, layout_.out_block ? layout_.out_block : width(), out_shape));
}

}  // namespace

void conv2d_mmla(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs,
                 std::unique_ptr<Schedule>* out) {
  BlockConvolution convolution(w, target, unit);
  convolution.choose(knobs);
  if (out) *out = convolution.schedule();
}

}  // namespace hone
