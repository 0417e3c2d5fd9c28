// Winograd's algorithm on GPUs, four launches: each thread transforms a tile of the input in registers; the same for
// the weights (at run time: GPU code has no prepacks); a matrix product for each position of a tile (product_tile.h);
// each tile of products is transformed to outputs. Between the launches data is in memory: in L2, where it fits.
#include <algorithm>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/ops/templates/gpu/conv2d_gpu.h"
#include "compiler/ops/templates/product_tile.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/winograd.h"

namespace hone {
namespace {

constexpr int64_t kOtherRegisters = 28;  // registers of a transforming thread beside its tile, as NVRTC allocates them

// Binds `outer` and `inner` to blocks of `threads` threads, neighbours along `inner`. Returns the innermost thread
// loop, which holds one thread's work.
LoopRef bind_threads(Schedule& s, LoopRef outer, LoopRef inner, int64_t threads, const std::vector<LoopRef>& own) {
  int64_t threads_x = 1;
  while (threads_x < threads && threads_x < s.extent(inner)) threads_x *= 2;
  const auto [y_o, y_i] = s.split(outer, threads / threads_x);
  const auto [x_o, x_i] = s.split(inner, threads_x);
  std::vector<LoopRef> order{y_o, x_o, y_i, x_i};
  order.insert(order.end(), own.begin(), own.end());
  s.reorder(order);
  for (const LoopRef l : {y_o, x_o}) s.bind(l, LoopKind::kBlock);
  for (const LoopRef l : {y_i, x_i}) s.bind(l, LoopKind::kThread);
  for (const LoopRef l : own) s.unroll(l);
  return x_i;
}

// Puts `stage` into a thread's registers at `at`, each element computed by its own statement.
void keep_in_registers(Schedule& s, BlockRef stage, LoopRef at, const std::vector<std::string>& axes) {
  s.set_scope(stage, BufferScope::kStack);
  s.compute_at(stage, at);
  for (const std::string& axis : axes) s.unroll(s.loop(stage, axis));
}

}  // namespace

void conv2d_winograd_gpu(const Workload& w, const Target& target, int m, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const ConvShape& c = conv_shape(w);
  const bool planes = is_planar(layout_of(w));
  const int64_t alpha = m + 2, tiles = c.n * ceil_div(c.oh, m) * ceil_div(c.ow, m);
  const DTypes& types = dtypes_of(w);
  // The columns of the products are contiguous in memory: tiles in NCHW, channels elsewhere.
  const int64_t rows = planes ? c.co : tiles, columns = planes ? tiles : c.co;
  const ProductTile tile =
      choose_product_tile(knobs, target, types, rows, columns, c.ci,
                          usual_product_tile(target, rows, columns, alpha * alpha), {4, 8, 16, 32}, "w_");
  const int64_t vector_data = knobs.choice("w_vector_data", {1, 2, 4}, 1),
                vector_weight = knobs.choice("w_vector_weight", {1, 2, 4}, 1);
  const int64_t threads_in = knobs.choice("w_threads_in", {32, 64, 128, 256}, 128),
                threads_out = knobs.choice("w_threads_out", {32, 64, 128, 256}, 128);

  const int64_t tile_p = planes ? tile.columns() : tile.rows(), tile_oc = planes ? tile.rows() : tile.columns();
  knobs.require("vectors of data are neighbours in memory",
                vector_data == 1 || (planes ? tiles % vector_data == 0 && tile_p % vector_data == 0
                                            : c.ci % vector_data == 0 && tile.tile_k % vector_data == 0));
  knobs.require("vectors of weights are neighbours in memory",
                c.co % vector_weight == 0 && tile_oc % vector_weight == 0);
  require_room(knobs, target,
               {tile.threads(), tile.registers, tile.tile_k * (tile_p + tile_oc) * types.accumulate.bytes()});
  const int64_t transformed = alpha * alpha * ceil_div(types.accumulate.bytes(), 4);
  require_room(knobs, target, {std::max(threads_in, threads_out), transformed + kOtherRegisters});
  if (!out) return;

  const Definition d = winograd_convolution(w, m);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  s.compute_inline(s.block("pad"));
  const BlockRef writer = begin_writer(s, d);

  const BlockRef input = s.block("input_tiles"), weight = s.block("weight_tiles"), products = s.block("products");
  const LoopRef p = s.loop(input, "p"), ic = s.loop(input, "ic");
  const LoopRef data_thread =
      bind_threads(s, planes ? ic : p, planes ? p : ic, threads_in, {s.loop(input, "a"), s.loop(input, "b")});
  keep_in_registers(s, s.block("input_rows"), data_thread, {"a", "x"});
  keep_in_registers(s, s.block("patches"), data_thread, {"y", "x"});
  const LoopRef weight_thread = bind_threads(s, s.loop(weight, "ic"), s.loop(weight, "oc"), threads_in,
                                             {s.loop(weight, "a"), s.loop(weight, "b")});
  keep_in_registers(s, s.block("weight_rows"), weight_thread, {"a", "x"});

  // Before the stages get other names: `sums` is the copy that the block of products makes.
  const BlockRef sums = s.cache_write(products, BufferScope::kStack);
  const auto axes = s.loops(sums);  // a, b, p, oc
  const BlockRef data_cache = s.cache_read("input_tiles", products, BufferScope::kShared),
                 weight_cache = s.cache_read("weight_tiles", products, BufferScope::kShared);
  const LoopRef block =
      schedule_tile_writer(s, tile, {axes[0], axes[1]}, planes ? axes[3] : axes[2], planes ? axes[2] : axes[3]);
  const LoopRef staged = schedule_tile_sum(s, tile, products, block, planes ? "oc" : "p", planes ? "p" : "oc", "ic");
  schedule_cooperative(s, tile, data_cache, staged, vector_data, {}, planes ? "i3" : "i2", planes ? "i2" : "i3");
  schedule_cooperative(s, tile, weight_cache, staged, vector_weight, {}, "i2", "i3");

  const auto image = s.loops(writer);  // n, oc, oh, ow
  const auto [row, i] = s.split(image[2], m);
  const auto [column, j] = s.split(image[3], m);
  s.reorder({image[1], image[0], row, column, i, j});
  const LoopRef out_p = fuse_all(s, {image[0], row, column});
  const LoopRef out_thread = bind_threads(s, planes ? image[1] : out_p, planes ? out_p : image[1], threads_out, {i, j});
  keep_in_registers(s, s.block("output_rows"), out_thread, {"i", "b"});

  const Layout k_outermost{{{0, 1, alpha}, {1, 1, alpha}, {3, 1, c.ci}, {2, 1, tiles}}};
  s.transform_layout("input_tiles_cache", k_outermost);
  if (planes) {
    s.transform_layout("input_tiles", k_outermost);
    const Layout channels_first{{{0, 1, alpha}, {1, 1, alpha}, {3, 1, c.co}, {2, 1, tiles}}};
    for (const BlockRef b : {products, sums}) s.transform_layout(s.buffer_of(b), channels_first);
  }
  s.transform_layout("weight", Layout{{{2, 1, c.kh}, {3, 1, c.kw}, {1, 1, c.ci}, {0, 1, c.co}}});
  lay_out_activations(s, w, d);
}

}  // namespace hone
