// Convolution as a matrix product: rows are the pixels of all images in one line, so that a tile of rows needs no tail
// at odd image widths; columns are output channels. The rows of a 1x1 convolution lie in the input as they are; other
// rows are gathered (im2col), by default by each task for its pixels.
#include "compiler/ops/conv_shape.h"
#include "compiler/ops/convolution.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/conv2d.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

// How rows are gathered: not at all (read in place), by each task for its own pixels, or by all tasks beforehand.
enum Gather : int64_t { kNobody = 0, kTask = 1, kBefore = 2 };

struct GemmChoices {
  int64_t oc_block, ic_block, tile_p, block_p, unroll_ic;
  int64_t word;  // neighbouring channels that one lane's step takes
  int64_t gather;
  bool oc_inside;  // whether a task runs through the channel blocks of its pixels, or is one of them
};

// Gathers the rows of one task, or of all, in the layout that the product reads.
void schedule_gather(Schedule& s, const GemmChoices& k, const ConvShape& c, int64_t pixels, LoopRef task) {
  const BlockRef rows = s.block("rows");
  if (k.gather == kTask) s.compute_at(rows, task);
  const LoopRef p = s.loop(rows, "p"), y = s.loop(rows, "kh"), x = s.loop(rows, "kw");
  const auto [ic_o, ic_i] = s.split(s.loop(rows, "ic"), k.ic_block);
  s.reorder({p, ic_o, y, x, ic_i});
  s.vectorize(ic_i);
  if (k.gather == kBefore) s.parallel(p);
  s.transform_layout("rows", Layout{{{0, k.tile_p, ceil_div(pixels, k.tile_p)},
                                     {1, k.ic_block, c.ci / k.ic_block},
                                     {2, 1, c.kh},
                                     {3, 1, c.kw},
                                     {0, 1, k.tile_p},
                                     {1, 1, k.ic_block}}});
}

// One register tile of the product.
// `weights`: bytes, of all of them; `element`: of one.
void schedule_product(Schedule& s, const GemmChoices& k, LoopRef tile, int64_t weights, int64_t element) {
  const BlockRef product = s.block("product");
  s.set_scope(product, BufferScope::kStack);
  s.compute_at(product, tile);
  const LoopRef p = s.loop(product, "p"), oc = s.loop(product, "oc"), kh = s.loop(product, "kh"),
                kw = s.loop(product, "kw");
  const auto [ic_o, ic_rest] = s.split(s.loop(product, "ic"), k.ic_block);
  const auto [ic_words, ic_w] = split_word(s, ic_rest, k.word);
  const auto [ic_i, ic_u] = s.split(ic_words, k.unroll_ic);
  std::vector<LoopRef> order{ic_o, kh, kw, ic_i, ic_u, p, oc};
  if (ic_w) order.push_back(*ic_w);
  s.reorder(order);
  if (!ic_w) s.vectorize(oc);
  s.unroll(p);
  s.unroll(ic_u);
  prefetch_constants(s, {ic_o, kh, kw, ic_i}, "weight", weights, k.unroll_ic * k.word * k.oc_block * element);
  const BlockRef zeros = s.decompose_reduction(product, ic_o);
  if (ic_w) s.vectorize(s.loop(zeros, "oc"));
}

}  // namespace

void conv2d_gemm(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  const int64_t lanes = target.lanes(accumulator_bits(w)), pixels = c.n * c.oh * c.ow;
  const bool in_place = reads_pixels_in_place(c);

  GemmChoices k{};
  const std::vector<int64_t> tiles{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 20, 24, 28},
      channels_of_tiles = channel_tiles(w, target, c.co);
  const auto usual_pixels = [&](int64_t vectors) { return usual_rows(tiles, pixels, vectors, target); };
  k.oc_block = knobs.choice("g_oc_block", channels_of_tiles,
                            usual_channel_tile(channels_of_tiles, c.co, lanes, [&](int64_t vectors) {
                              return covering_cost(pixels, usual_pixels(vectors), vectors);
                            }));
  k.ic_block = knobs.choice(
      "g_ic_block", layout.in_block ? std::vector<int64_t>{layout.in_block} : channel_blocks(c.ci, lanes), lanes);
  k.word = elements_of_dot(w, k.ic_block, k.oc_block);
  k.tile_p = knobs.choice("g_tile_p", tiles, usual_pixels(registers_of(k.oc_block, lanes)));
  const int64_t element = dtypes_of(w).in.bytes(), weight_bytes = element * c.co * c.ci * c.kh * c.kw;
  const double row_bytes = static_cast<double>(element * pixels);
  const ConvBytes bytes{row_bytes * static_cast<double>(c.ci) * static_cast<double>(c.kh * c.kw),
                        static_cast<double>(weight_bytes), row_bytes * static_cast<double>(c.co)};
  const RowTasks usual = usual_row_tasks(c, target, bytes, ceil_div(c.co, k.oc_block));
  constexpr int64_t kUsualTasks = 16;
  const Split tasks = chunks(
      ceil_div(pixels, k.tile_p),
      knobs.thread_choice("g_tasks", {1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 128}, std::max(usual.parts, kUsualTasks)));
  k.block_p = tasks[1];
  k.gather = knobs.choice(
      "g_gather", in_place ? std::vector<int64_t>{kNobody, kTask, kBefore} : std::vector<int64_t>{kTask, kBefore},
      in_place             ? kNobody
      : usual.all_channels ? kTask
                           : kBefore,
      {{kNobody, "in_place"}, {kTask, "task"}, {kBefore, "before"}});
  k.oc_inside = knobs.thread_choice("g_oc_inside", {0, 1}, usual.all_channels ? 1 : 0) != 0;
  k.unroll_ic = knobs.choice("g_unroll_ic", {1, 2, 4, 8}, usual_unrolling(k.ic_block / k.word, 4));

  const int64_t registers = registers_of(k.oc_block, lanes), accumulators = k.tile_p * registers;
  knobs.require("accumulators leave registers for weights and data",
                accumulators + registers + 1 <= target.vector_registers);
  knobs.require("accumulators hide the latency of their sums", accumulators >= 8 || k.tile_p >= pixels);
  knobs.require("tiles waste little", 3 * (ceil_div(pixels, k.tile_p) * k.tile_p - pixels) <= pixels);
  knobs.require("rows are gathered once", k.gather == kNobody || k.oc_inside == (k.gather == kTask));
  knobs.require("gathered rows stay in L2",
                k.gather != kTask || k.block_p == 1 ||
                    dtypes_of(w).in.bytes() * k.tile_p * k.block_p * c.ci * c.kh * c.kw <= target.l2_bytes);
  knobs.require("the output block fits a vector loop", k.oc_block <= Schedule::kMostLanes);
  knobs.require("input blocks divide the channels", c.ci % k.ic_block == 0);
  knobs.require("unrolling divides the input block", k.ic_block / k.word % k.unroll_ic == 0);
  knobs.require("the unrolled body is small", accumulators * k.unroll_ic <= kMostUnrolledProduct);
  if (!out) return;

  const Definition d = gemm_convolution(w);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  s.compute_inline(s.block("pad"));
  const BlockRef writer = begin_writer(s, d);

  const auto axes = s.loops(writer);
  const auto [oc_o, oc_tile] = s.split(axes[1], k.oc_block);
  const ChannelTileLoops channels = split_channel_tile(s, oc_tile, layout);
  reorder_tile(s, {axes[0], axes[2], axes[3], oc_o}, channels, {});
  const auto rows =
      s.split(fuse_all(s, {axes[0], axes[2], axes[3]}), std::vector<int64_t>{tasks[0], k.block_p, k.tile_p});
  LoopRef task = rows[0];
  if (k.oc_inside) {
    reorder_tile(s, {rows[0], oc_o, rows[1]}, channels, {rows[2]});
  } else {
    reorder_tile(s, {oc_o, rows[0], rows[1]}, channels, {rows[2]});
    task = s.fuse(oc_o, rows[0]);
  }
  vectorize_tile(s, channels);
  s.unroll(rows[2]);
  schedule_product(s, k, rows[1], weight_bytes, element);
  if (k.gather != kNobody)
    schedule_gather(s, k, c, pixels, task);
  else
    s.compute_inline(s.block("rows"));
  s.parallel(task);
  lay_out_first_input(s, d, activation_layout(layout, k.ic_block, {c.n, c.ci, c.h, c.w}));
  Layout packed{
      {{0, k.oc_block, ceil_div(c.co, k.oc_block)}, {1, k.ic_block, c.ci / k.ic_block}, {2, 1, c.kh}, {3, 1, c.kw}}};
  append_words(&packed, 1, k.ic_block, k.word, 0, k.oc_block);
  s.transform_layout("weight", packed);
  const std::vector<int64_t> out_shape{c.n, c.co, c.oh, c.ow};
  lay_out_like(s, d, activation_layout(layout, layout.out_block ? layout.out_block : k.oc_block, out_shape));
  if (k.word > 1) s.tensorize(s.block("product"), s.loop(s.block("product"), "oc"), dot_intrinsic(w));
}

}  // namespace hone
