// Convolution on GPUs as a matrix product of pixels by output channels (product_tile.h). The matrix of pixels is never
// in memory: a block gathers its part, with zeros for the border, into shared memory. The columns of a tile are
// contiguous in memory, pixels in NCHW and channels elsewhere, so that neighbouring threads read and write
// neighbouring words.
#include <numeric>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/ops/templates/gpu/conv2d_gpu.h"
#include "compiler/ops/templates/gpu/warp_tile.h"
#include "compiler/ops/templates/product_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {
namespace {

// How many input channels may be staged at a time: powers of two, and all of them where there are few.
std::vector<int64_t> channel_tiles(int64_t channels) {
  std::vector<int64_t> out;
  for (int64_t n = 1; n <= 32 && n < 2 * channels; n *= 2) out.push_back(n);
  if (channels < 8 && channels > 2 && channels % 2 != 0)
    out.insert(std::lower_bound(out.begin(), out.end(), channels), channels);
  return out;
}

}  // namespace

ConvProduct begin_conv_product(const Workload& w, bool channels_first, std::unique_ptr<Schedule>* out) {
  const Definition d = gemm_convolution(w);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  s.compute_inline(s.block("pad"));
  const BlockRef writer = begin_writer(s, d), product = s.block("product"), rows = s.block("rows");
  s.set_scope(product, BufferScope::kStack);
  s.set_scope(rows, BufferScope::kShared);
  const BlockRef weight = s.cache_read("weight", product, BufferScope::kShared);

  const auto axes = s.loops(writer);  // n, oc, oh, ow
  s.reorder({axes[1], axes[0], axes[2], axes[3]});
  const LoopRef p = fuse_all(s, {axes[0], axes[2], axes[3]}), oc = axes[1];
  if (!channels_first) s.reorder({p, oc});
  return {d, writer, product, rows, weight, p, oc};
}

void conv2d_gemm_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  const bool planes = is_planar(layout);
  const int64_t pixels = c.n * c.oh * c.ow, taps = c.kh * c.kw;
  const DTypes& types = dtypes_of(w);
  const int64_t m = planes ? c.co : pixels, n = planes ? pixels : c.co;
  ProductTile usual = usual_product_tile(target, m, n);
  // One iteration stages one tap of the window, or all taps: fewer barriers, more shared memory.
  if (taps > 1) usual.tile_k = 8;
  const int64_t usual_depth = c.ci > usual.tile_k ? 2 * usual.tile_k : c.ci,
                usual_staged = usual_depth * taps * std::max(types.in.bytes(), types.weight.bytes()) *
                               (usual.rows() + usual.columns());
  const bool may_window = taps > 1,
             is_window_usual = may_window && target.has(Feature::kAsyncCopy) && usual_staged <= target.shared_bytes;
  const ProductTile tile = choose_product_tile(knobs, target, types, m, n, c.ci, usual, channel_tiles(c.ci), "",
                                               /*may_double_buffer=*/true);
  const bool window =
      knobs.choice("window", may_window ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}, is_window_usual) != 0;
  const bool in_place =
      taps == 1 && c.stride_h * c.stride_w == 1 && c.pad_top + c.pad_left + c.pad_bottom + c.pad_right == 0;
  const int64_t usual_channels = planes ? usual.rows() : usual.columns(),
                usual_pixels = planes ? usual.columns() : usual.rows(),
                usual_data = planes && in_place
                                 ? std::min<int64_t>(4, copied_at_once(types.in, {c.oh * c.ow, usual_pixels}))
                                 : 1;
  const int64_t vector_data = knobs.choice("vector_data", {1, 2, 4}, usual_data),
                vector_weight =
                    knobs.choice("vector_weight", {1, 2, 4},
                                 std::min<int64_t>(4, copied_at_once(types.weight, {c.co, usual_channels})));

  const int64_t tile_pixels = planes ? tile.columns() : tile.rows(),
                tile_channels = planes ? tile.rows() : tile.columns(), depth = tile.tile_k * (window ? taps : 1);
  const int64_t neighbours = std::gcd(c.ci, neighbouring_channels(layout.in_block, c.ci));
  knobs.require(
      "vectors of data are neighbours in memory",
      vector_data == 1 || (planes ? in_place && (c.oh * c.ow) % vector_data == 0 && tile_pixels % vector_data == 0
                                  : neighbours % vector_data == 0 && tile.tile_k % vector_data == 0));
  knobs.require("vectors of weights are neighbours in memory",
                c.co % vector_weight == 0 && tile_channels % vector_weight == 0);
  require_room(knobs, target,
               {tile.threads(), tile.registers,
                tile.buffers() * depth * (types.in.bytes() * tile_pixels + types.weight.bytes() * tile_channels)});
  knobs.require("the unrolled window is small",
                !window || !tile.unroll_k || tile.tile_k * tile.tile_m * tile.tile_n <= kMostUnrolledTileInWindow);
  if (!out) return;

  const auto [definition, writer, product, rows, weight, p, oc] = begin_conv_product(w, planes, out);
  Schedule& s = **out;
  const LoopRef block = schedule_tile_writer(s, tile, {}, planes ? oc : p, planes ? p : oc);
  const std::vector<std::string> around_taps{"kh", "kw"};
  const LoopRef staged =
      window
          ? schedule_tile_sum(s, tile, product, block, planes ? "oc" : "p", planes ? "p" : "oc", "ic", {}, around_taps)
          : schedule_tile_sum(s, tile, product, block, planes ? "oc" : "p", planes ? "p" : "oc", "ic", around_taps);
  schedule_cooperative(s, tile, rows, staged, vector_data, around_taps, planes ? "ic" : "p", planes ? "p" : "ic");
  schedule_cooperative(s, tile, weight, staged, vector_weight, {"i2", "i3"}, "i1", "i0");
  // Pixels and channels are innermost, so that a thread reads contiguous shared memory.
  s.transform_layout("rows", Layout{{{2, 1, c.kh}, {3, 1, c.kw}, {1, 1, c.ci}, {0, 1, pixels}}});
  const Layout channels_last{{{2, 1, c.kh}, {3, 1, c.kw}, {1, 1, c.ci}, {0, 1, c.co}}};
  s.transform_layout("weight_cache", channels_last);
  s.transform_layout("weight", channels_last);
  if (planes) s.transform_layout("product", Layout{{{1, 1, c.co}, {0, 1, pixels}}});
  lay_out_activations(s, w, definition);
  double_buffer_staged(s, tile, {rows, weight});
}

}  // namespace hone
