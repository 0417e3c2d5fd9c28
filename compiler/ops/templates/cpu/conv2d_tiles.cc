// Convolution on tiles, as a matrix product (conv2d_gemm.cc): a block of up to 4 tiles of 16 pixels by 16 channels
// stays in registers while the window and the input channels run, as one axis that zeros fill up to whole tiles. Rows
// of a 1x1 convolution are read where the image has them, if a pixel's channels lie together and neither they nor
// blocks of pixels have a tail. Others are read from a copy of the image with its border, where 16 pixels of a row are
// a tile, since tiles take rows at any distance; or, where that leaves too much of the last tile empty, they are
// gathered (im2col), with zeros behind the end: into panels of whole tiles, or, where channels are no whole tiles, into
// rows as long as k.
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

// How rows of tiles come about.
const ChoiceWords kTileGatherWords = {
    {kNobody, "in_place"}, {kTask, "task"}, {kBefore, "before"}, {kImage, "image"}, {kImageBefore, "image_before"}};

class TileConvolution {
 public:
  TileConvolution(const Workload& w, const Target& target, const MatrixUnit& unit)
      : w_(w),
        target_(target),
        unit_(unit),
        c_(conv_shape(w)),
        layout_(layout_of(w)),
        pixels_(c_.n * c_.oh * c_.ow),
        steps_(ceil_div(c_.ci * c_.kh * c_.kw, unit.depth)),
        element_(dtypes_of(w).in.bytes()) {}

  void choose(Knobs& knobs);
  std::unique_ptr<Schedule> schedule() const {
    return gather_ == kImage || gather_ == kImageBefore ? schedule_image_rows() : schedule_pixel_rows();
  }

 private:
  std::unique_ptr<Schedule> schedule_pixel_rows() const;
  std::unique_ptr<Schedule> schedule_image_rows() const;
  LoopRef schedule_image_writer(Schedule& s, BlockRef writer, LoopRef* task) const;
  void schedule_image(Schedule& s, const ImageRows& image, LoopRef task) const;
  LoopRef schedule_product(Schedule& s, LoopRef block) const;
  void schedule_gather(Schedule& s, LoopRef task) const;
  void lay_out(Schedule& s, const Definition& d, int64_t k) const;

  int64_t height() const { return block_.height(); }
  int64_t width() const { return block_.width(); }
  // Blocks of the input's channels where the config chooses them.
  int64_t own_block() const { return std::gcd(c_.ci, unit_.depth); }
  // Channels of the input that are neighbours in memory.
  int64_t neighbours() const { return layout_.in_block ? layout_.in_block : layout_.blocked ? own_block() : c_.ci; }
  // Whether each tile of rows has channels of one position of the window.
  bool has_whole_channels() const { return c_.ci % unit_.depth == 0; }

  const Workload& w_;
  const Target& target_;
  const MatrixUnit& unit_;
  const ConvShape& c_;
  const LayoutChoice& layout_;
  const int64_t pixels_, steps_, element_;  ///< steps: of k, each as deep as a tile

  NestBlock block_;
  Split tasks_;  ///< tasks of pixels, and blocks of one
  int64_t gather_ = kTask;
  bool oc_inside_ = true;  ///< whether a task runs through the channels of its pixels, or has one block of them
};

void TileConvolution::choose(Knobs& knobs) {
  block_ = choose_block(unit_, {.rows = pixels_, .columns = c_.co, .steps = steps_}, {.block = "t_tiles", .unroll = {}},
                        knobs);
  // A task's gathered rows, which all channels meet, stay in half of L2.
  const int64_t row_bytes = element_ * steps_ * unit_.depth,
                rows_in_l2 = std::max<int64_t>(height(), target_.l2_bytes / 2 / row_bytes);
  const bool may_read_in_place = reads_pixels_in_place(c_) && has_whole_channels() && neighbours() % unit_.depth == 0 &&
                                 !changes_input(w_),
             is_whole = pixels_ % height() == 0;
  // Three quarters of a row's tiles are worth more than gathering each pixel of the window by itself.
  const bool fills_tiles = 4 * c_.ow >= 3 * unit_.rows * ceil_div(c_.ow, unit_.rows);
  std::vector<int64_t> gathers{kTask, kBefore, kImage, kImageBefore};
  if (may_read_in_place) gathers.insert(gathers.begin(), kNobody);
  gather_ = knobs.choice("t_gather", gathers,
                         may_read_in_place && is_whole ? kNobody
                         : fills_tiles                 ? kImage
                                                       : kTask,
                         kTileGatherWords);
  const bool has_image = gather_ == kImage || gather_ == kImageBefore;
  const int64_t blocks = has_image ? ceil_div(c_.oh, block_.high) : std::max<int64_t>(1, ceil_div(pixels_, height()));
  const std::vector<int64_t> counts = chunk_counts(ceil_div(pixels_, unit_.rows));
  const int64_t least = std::max<int64_t>(ceil_div(pixels_, rows_in_l2), target_.threads);
  tasks_ = chunks(blocks, knobs.thread_choice("t_tasks", counts, usual_chunks(counts, blocks, least)));
  oc_inside_ = knobs.thread_choice("t_oc_inside", {0, 1}, 1) != 0;
  knobs.require("rows that a task does not gather itself fill whole blocks", gather_ == kTask || has_image || is_whole);
  knobs.require("rows are gathered once",
                gather_ == kNobody || gather_ == kImageBefore || oc_inside_ == (gather_ == kTask || gather_ == kImage));
  knobs.require("blocks of channels are those of the layout, or parts of them",
                !layout_.out_block || width() % layout_.out_block == 0 || layout_.out_block % width() == 0);
}

std::unique_ptr<Schedule> TileConvolution::schedule_pixel_rows() const {
  const Definition d = convolution_of_filled_pixels(w_, unit_.depth);
  auto out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = *out;
  s.compute_inline(s.block("pad"));
  const PixelLoops loops = schedule_pixels(s, begin_writer(s, d), layout_, width(), {tasks_, height(), oc_inside_});
  const LoopRef row = schedule_product(s, loops.tile);
  if (gather_ != kNobody)
    schedule_gather(s, loops.task);
  else
    s.compute_inline(s.block("rows"));
  s.parallel(loops.task);
  lay_out(s, d, steps_ * unit_.depth);
  s.tensorize(s.block("product"), row, unit_.name);
  return out;
}

// One block of sums. Returns the loop over rows of a tile, the outermost one of a nest.
LoopRef TileConvolution::schedule_product(Schedule& s, LoopRef block) const {
  const BlockRef product = s.block("product");
  s.set_scope(product, BufferScope::kStack);
  s.compute_at(product, block);
  const auto [p_o, p_i] = s.split(s.loop(product, "p"), unit_.rows);
  const auto [oc_o, oc_i] = s.split(s.loop(product, "oc"), unit_.columns);
  schedule_steps(s, product, s.loop(product, "k"), {}, {p_o, oc_o, p_i, oc_i}, block_);
  return p_i;
}

std::unique_ptr<Schedule> TileConvolution::schedule_image_rows() const {
  const ImageRows image =
      image_rows(w_, unit_.depth, tasks_[0] * tasks_[1] * block_.high, ceil_div(c_.ow, unit_.rows) * unit_.rows);
  const Definition d = convolution_of_image_rows(w_, image);
  auto out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = *out;
  s.compute_inline(s.block("pad"));
  LoopRef task;
  const LoopRef block = schedule_image_writer(s, begin_writer(s, d), &task);

  const BlockRef product = s.block("product");
  s.set_scope(product, BufferScope::kStack);
  s.compute_at(product, block);
  const auto [oc_o, oc_i] = s.split(s.loop(product, "oc"), unit_.columns);
  const auto k = s.split(s.loop(product, "k"),
                         std::vector<int64_t>{image.run / unit_.depth, unit_.depth / unit_.word, unit_.word});
  const LoopRef segment = s.loop(product, "segment"), y = s.loop(product, "y"), x = s.loop(product, "x");
  s.reorder({segment, k[0], y, oc_o, x, oc_i, k[1], k[2]});
  const BlockRef zeros = s.decompose_reduction(product, segment);
  s.vectorize(s.loops(zeros).back());
  s.unroll(y);
  s.unroll(oc_o);
  schedule_image(s, image, task);
  s.parallel(task);
  lay_out(s, d, image.segments * image.run);
  s.tensorize(product, x, unit_.name);
  return out;
}

// Blocks of `block_.high` rows of a tile's pixels each. Returns the loop in which one is computed.
LoopRef TileConvolution::schedule_image_writer(Schedule& s, BlockRef writer, LoopRef* task) const {
  const auto axes = s.loops(writer);  // n, oc, oh, ow
  const auto [oc_o, oc_tile] = s.split(axes[1], width());
  const ChannelTileLoops lanes = split_channel_tile(s, oc_tile, layout_);
  const auto rows = s.split(axes[2], std::vector<int64_t>{tasks_[0], tasks_[1], block_.high});
  const auto [column_o, column_i] = s.split(axes[3], unit_.rows);
  std::vector<LoopRef> outer{axes[0], rows[0], oc_o, rows[1], column_o};
  if (!oc_inside_) outer = {oc_o, axes[0], rows[0], rows[1], column_o};
  reorder_tile(s, outer, lanes, {rows[2], column_i});
  *task =
      fuse_all(s, oc_inside_ ? std::vector<LoopRef>{axes[0], rows[0]} : std::vector<LoopRef>{oc_o, axes[0], rows[0]});
  vectorize_tile(s, lanes);
  return column_o;
}

// Copies the rows of one task, or all: a pixel's channels at a time.
void TileConvolution::schedule_image(Schedule& s, const ImageRows& image, LoopRef task) const {
  const BlockRef copy = s.block("image");
  if (gather_ == kImage) s.compute_at(copy, task);
  const LoopRef channels = s.split(s.loop(copy, "e"), image.channels).second;
  s.vectorize(s.split(channels, std::min({image.channels, neighbours(), unit_.depth})).second);
  if (gather_ == kImageBefore) s.parallel(s.fuse(s.loop(copy, "n"), s.loop(copy, "y")));
}

// Gathers the rows of one task, or of all: as panels [tiles][steps][rows][depth], or as they are.
void TileConvolution::schedule_gather(Schedule& s, LoopRef task) const {
  const BlockRef rows = s.block("rows");
  if (gather_ == kTask) s.compute_at(rows, task);
  const LoopRef p = s.loop(rows, "p");
  // Where the window is one pixel, channels and the zeros behind them; else the channels of one pixel of it.
  const bool is_pixel = c_.kh * c_.kw == 1;
  LoopRef channels = s.loop(rows, "k");
  if (!is_pixel) {
    const auto [pixel, own] = s.split(channels, c_.ci);
    s.split(pixel, c_.kw);
    channels = own;
  }
  const int64_t lanes = is_pixel && !layout_.blocked ? unit_.depth : std::min(neighbours(), unit_.depth);
  s.vectorize(s.split(channels, lanes).second);
  if (gather_ == kBefore) s.parallel(p);
  const int64_t tiles = tasks_[0] * tasks_[1] * block_.high;
  if (has_whole_channels())
    s.transform_layout(
        "rows", Layout{{{0, unit_.rows, tiles}, {1, unit_.depth, steps_}, {0, 1, unit_.rows}, {1, 1, unit_.depth}}});
  else  // Rows begin at lines of the cache; what is written reaches to the last pixel's end.
    s.transform_layout(
        "rows",
        Layout{{{0, 1, tiles * unit_.rows}, {1, unit_.depth, is_pixel ? steps_ : steps_ + 1}, {1, 1, unit_.depth}}});
}

// `k`: of the weights' columns.
void TileConvolution::lay_out(Schedule& s, const Definition& d, int64_t k) const {
  lay_out_first_input(
      s, d, activation_layout(layout_, layout_.in_block ? layout_.in_block : own_block(), {c_.n, c_.ci, c_.h, c_.w}));
  s.transform_layout("columns", Layout{{{0, unit_.columns, ceil_div(c_.co, width()) * block_.wide},
                                        {1, unit_.depth, k / unit_.depth},
                                        {1, unit_.word, unit_.depth / unit_.word},
                                        {0, 1, unit_.columns},
                                        {1, 1, unit_.word}}});
  s.prepack(s.block("columns"));
  const std::vector<int64_t> out_shape{c_.n, c_.co, c_.oh, c_.ow};
  lay_out_like(s, d, activation_layout(layout_, layout_.out_block ? layout_.out_block : width(), out_shape));
}

}  // namespace

const MatrixUnit* convolution_unit(const Workload& w, const Target& target) {
  const ConvShape& c = conv_shape(w);
  const DTypes& types = dtypes_of(w);
  const LayoutChoice& layout = layout_of(w);
  const bool has_neighbours = layout.blocked || layout.in_block > 1 || layout.in != "NCHW";
  if (c.depthwise || c.groups != 1 || !has_neighbours || types.tf32 || types.f16_runs ||
      types.first_factor() != types.in)
    return nullptr;
  // Rows of pixels of several padded images: without channel blocks the input's index is one sum whose bounds the
  // verifier cannot prove.
  if (c.n > 1 && is_padded(c) && !layout.blocked) return nullptr;
  const MatrixUnit* unit = nest_unit(target, to_string(types.in), to_string(types.weight), to_string(types.accumulate));
  // Fewer channels are gathered a few bytes at a time.
  constexpr int64_t kFewChannels = 8;
  return unit && (unit->has_tiles() ? c.ci >= kFewChannels : c.ci % unit->depth == 0) ? unit : nullptr;
}

void conv2d_tiles(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs,
                  std::unique_ptr<Schedule>* out) {
  TileConvolution convolution(w, target, unit);
  convolution.choose(knobs);
  if (out) *out = convolution.schedule();
}

}  // namespace hone
