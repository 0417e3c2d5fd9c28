// Convolution on GPUs as a matrix product on tensor cores (warp_tile.h): of pixels by output channels or, where pixels
// are neighbours in memory (NCHW), of output channels by pixels. One tap of the window and one step of channels at a
// time is gathered into shared memory, with zeros for the border. k, the channels, lies innermost, except for NCHW in
// 16 bits, where ldmatrix transposes.
#include <numeric>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/ops/templates/gpu/conv2d_gpu.h"
#include "compiler/ops/templates/gpu/warp_tile.h"
#include "compiler/ops/templates/product_tile.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {

bool tensor_cores_apply(const Workload& w, const Target& target) {
  const ConvShape& c = conv_shape(w);
  const DTypes& types = dtypes_of(w);
  return !c.depthwise && c.groups == 1 && c.ci % step_of_k(types) == 0 && !tensor_core_intrinsic(target, types).empty();
}

void conv2d_tensor_core_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const LayoutChoice& layout = layout_of(w);
  const bool planes = is_planar(layout);
  const int64_t pixels = c.n * c.oh * c.ow, taps = c.kh * c.kw;
  const DTypes& types = dtypes_of(w);
  // In NCHW A is the weights and B the pixels, if both have one type: mma takes u8 only as A and s8 only as B.
  const bool weights_first = planes && types.in == types.weight, across = weights_first && types.in.bytes() == 2;
  const WarpTile tile = choose_warp_tile(knobs, target, types, weights_first ? c.co : pixels,
                                         weights_first ? pixels : c.co, c.ci, taps, across);
  const bool in_place =
      taps == 1 && c.stride_h * c.stride_w == 1 && c.pad_top + c.pad_left + c.pad_bottom + c.pad_right == 0;
  const int64_t tile_pixels = weights_first ? tile.columns() : tile.rows();
  if (!out) return;

  const auto [definition, writer, product, rows, weight, p, oc] = begin_conv_product(w, weights_first, out);
  Schedule& s = **out;
  const LoopRef block = schedule_warp_writer(s, tile, {}, weights_first ? oc : p, weights_first ? p : oc);
  const LoopRef staged = schedule_warp_sum(s, tile, tensor_core_intrinsic(target, types), product, block,
                                           weights_first ? "oc" : "p", weights_first ? "p" : "oc", "ic", {"kh", "kw"});
  // A thread copies neighbours at once: channels where they are contiguous, else pixels where the rows of the product
  // are rows of the input.
  const int64_t neighbours = std::gcd(c.ci, neighbouring_channels(layout.in_block, c.ci));
  const int64_t vector = planes ? (across && in_place ? copied_at_once(types.in, {c.oh * c.ow, tile_pixels}) : 1)
                                : copied_at_once(types.in, {neighbours, tile.tile_k()});
  schedule_cooperative(s, tile.threads(), rows, staged, vector, {"kh", "kw"}, planes ? "ic" : "p", planes ? "p" : "ic");
  schedule_cooperative(s, tile.threads(), weight, staged, copied_at_once(types.weight, {c.ci, tile.tile_k()}),
                       {"i2", "i3"}, "i0", "i1");
  s.transform_layout("rows", across ? Layout{{{2, 1, c.kh}, {3, 1, c.kw}, {1, 1, c.ci}, {0, 1, pixels}}}
                                    : Layout{{{2, 1, c.kh}, {3, 1, c.kw}, {0, 1, pixels}, {1, 1, c.ci}}});
  const Layout channels_last{{{2, 1, c.kh}, {3, 1, c.kw}, {0, 1, c.co}, {1, 1, c.ci}}};
  s.transform_layout("weight_cache", channels_last);
  s.transform_layout("weight", channels_last);
  if (weights_first) s.transform_layout("product", Layout{{{1, 1, c.co}, {0, 1, pixels}}});
  lay_out_activations(s, w, definition);
  finish_staged(s, tile, rows, types.in, 2);
  finish_staged(s, tile, weight, types.weight, 2);
}

}  // namespace hone
