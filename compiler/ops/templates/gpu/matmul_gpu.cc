// dense and batch_matmul on GPUs: a block computes a tile of rows x columns, A and B staged in shared memory. By
// threads (product_tile.h) with k outermost, so that the threads of a warp read neighbouring words; or on tensor cores
// (warp_tile.h) with k innermost.
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/ops/templates/gpu/warp_tile.h"
#include "compiler/ops/templates/product_tile.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/tile.h"

namespace hone {

namespace {

enum Algorithm : int64_t { kThreads = 0, kTensorCores = 1 };

// How many parts k may be cut into, each a multiple of `step`: a few large tiles alone leave most multiprocessors idle.
std::vector<int64_t> cuts_of(int64_t k, int64_t step) {
  constexpr int64_t kMostParts = 64, kLeastOfPart = 64;
  std::vector<int64_t> out{1};
  for (int64_t parts = 2; parts <= kMostParts && k % (parts * step) == 0 && k / parts >= kLeastOfPart; parts *= 2)
    out.push_back(parts);
  return out;
}

int64_t choose_parts(Knobs& knobs, std::string_view knob, const Target& target, const Workload& w, int64_t step) {
  constexpr int64_t kUsualTile = 64, kUsualPart = 512;
  const int64_t m = product_shape(w).m, n = product_shape(w).n, k = product_shape(w).k,
                blocks = ceil_div(m, kUsualTile) * ceil_div(n, kUsualTile) * (product_shape(w).b);
  return knobs.choice(knob, cuts_of(k, step),
                      std::max<int64_t>(1, std::min<int64_t>(target.sms / blocks, k / kUsualPart)));
}

// A launch of its own: each thread adds up the parts of a few neighbours and applies the epilogue.
void schedule_sum_of_parts(Schedule& s, const Definition& d) {
  constexpr int64_t kVector = 4, kBlock = 128;
  const auto [sum, writer] = begin_tile(s, d);
  auto axes = s.loops(writer);
  const auto [n_o, n_i] = s.split(axes.back(), kVector);
  axes.back() = n_o;
  const auto [block, thread] = s.split(fuse_all(s, axes), kBlock);
  s.bind(block, LoopKind::kBlock);
  s.bind(thread, LoopKind::kThread);
  s.vectorize(n_i);
  s.compute_at(sum, thread);
  const LoopRef part = s.loop(sum, "part"), n = s.loop(sum, "n");
  s.reorder({part, n});
  s.vectorize(n);
  s.decompose_reduction(sum, part);
}

void matmul_by_threads(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const bool batched = product_shape(w).batched;
  const int64_t m = product_shape(w).m, n = product_shape(w).n;
  const DTypes& types = dtypes_of(w);
  const int64_t parts = choose_parts(knobs, "split_k", target, w, 1), k = product_shape(w).k / parts;
  const ProductTile usual = usual_product_tile(target, m, n, parts * product_shape(w).b);
  const ProductTile tile =
      choose_product_tile(knobs, target, types, m, n, k, usual, {4, 8, 16, 32}, "", /*may_double_buffer=*/true);
  // A thread copies neighbours at once: along k of A and of dense's B [n, k], along n of batch_matmul's B [b, k, n].
  const int64_t vector_a = knobs.choice("vector_a", {1, 2, 4}, std::min<int64_t>(4, copied_at_once(types.in, {k}))),
                vector_b =
                    knobs.choice("vector_b", {1, 2, 4},
                                 batched ? std::min<int64_t>(4, copied_at_once(types.weight, {n, usual.columns()}))
                                         : std::min<int64_t>(4, copied_at_once(types.weight, {k})));
  knobs.require("vectors of A divide its rows", k % vector_a == 0 && tile.tile_k % vector_a == 0);
  knobs.require("vectors of B divide its rows", batched ? n % vector_b == 0 && tile.columns() % vector_b == 0
                                                        : k % vector_b == 0 && tile.tile_k % vector_b == 0);
  require_room(
      knobs, target,
      {tile.threads(), tile.registers,
       tile.buffers() * (types.in.bytes() * staged_elements(tile, tile.rows() * tile.tile_k, vector_a) +
                         types.weight.bytes() * staged_elements(tile, tile.columns() * tile.tile_k, vector_b))});
  if (!out) return;

  const Definition d = split_matrix_product(w, parts);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const auto [product, writer] = begin_product(s, d);
  const BlockRef a = cache_first_input(s, d, product, BufferScope::kShared),
                 b = s.cache_read("b", product, BufferScope::kShared);

  const auto axes = s.loops(writer);  // (part,) (b,) m, n
  const std::vector<LoopRef> around(axes.begin(), axes.end() - 2);
  const LoopRef block = schedule_tile_writer(s, tile, around, axes[axes.size() - 2], axes.back());
  const LoopRef staged = schedule_tile_sum(s, tile, product, block, "m", "n", "k");
  schedule_cooperative(s, tile, a, staged, vector_a);
  schedule_cooperative(s, tile, b, staged, vector_b);
  const auto k_outermost = [&](int row_axis, int k_axis, int64_t rows) {
    Layout l;
    if (batched) l.dims.push_back({0, 1, product_shape(w).b});
    l.dims.push_back({k_axis, 1, product_shape(w).k});
    l.dims.push_back({row_axis, 1, rows});
    return l;
  };
  s.transform_layout(s.buffer_of(a), k_outermost(batched ? 1 : 0, batched ? 2 : 1, m));
  if (!batched) s.transform_layout(s.buffer_of(b), k_outermost(0, 1, n));
  double_buffer_staged(s, tile, {a, b});
  if (parts > 1) schedule_sum_of_parts(s, d);
}

void matmul_by_tensor_cores(const Workload& w, const Target& target, std::string_view intrinsic, Knobs& knobs,
                            std::unique_ptr<Schedule>* out) {
  const bool batched = product_shape(w).batched;
  const int64_t m = product_shape(w).m, n = product_shape(w).n;
  const DTypes& types = dtypes_of(w);
  const int64_t parts = choose_parts(knobs, "warp_split_k", target, w, step_of_k(types)),
                k = product_shape(w).k / parts;
  // batch_matmul's B [b, k, n] is staged as it is where ldmatrix can transpose it (16 bits), else transposed by the
  // copy.
  const bool columns_of_b = batched && types.weight.bytes() == 2;
  const WarpTile tile = choose_warp_tile(knobs, target, types, m, n, k, 1, columns_of_b);
  if (!out) return;

  const Definition d = split_matrix_product(w, parts);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const auto [product, writer] = begin_product(s, d);
  const BlockRef a = cache_first_input(s, d, product, BufferScope::kShared),
                 b = s.cache_read("b", product, BufferScope::kShared);

  const auto axes = s.loops(writer);  // (part,) (b,) m, n
  const LoopRef block =
      schedule_warp_writer(s, tile, {axes.begin(), axes.end() - 2}, axes[axes.size() - 2], axes.back());
  const LoopRef staged = schedule_warp_sum(s, tile, intrinsic, product, block, "m", "n", "k");
  const int64_t along_n = copied_at_once(types.weight, {n, tile.columns()}), along_k = copied_at_once(types.in, {k});
  const std::vector<std::string> others = batched ? std::vector<std::string>{"i0"} : std::vector<std::string>{};
  const std::string outer = batched ? "i1" : "i0", inner = batched ? "i2" : "i1";
  schedule_cooperative(s, tile.threads(), a, staged, along_k, others, outer, inner);
  schedule_cooperative(s, tile.threads(), b, staged,
                       !batched       ? along_k
                       : columns_of_b ? along_n
                                      : 1,
                       others, outer, inner);
  if (batched && !columns_of_b)
    s.transform_layout(s.buffer_of(b), Layout{{{0, 1, product_shape(w).b}, {2, 1, n}, {1, 1, product_shape(w).k}}});
  finish_staged(s, tile, a, types.in, batched ? 1 : 0);
  finish_staged(s, tile, b, types.weight, batched ? 1 : 0);
  if (parts > 1) schedule_sum_of_parts(s, d);
}

}  // namespace

void matmul_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const DTypes& types = dtypes_of(w);
  const std::string_view intrinsic =
      product_shape(w).k % step_of_k(types) == 0 ? tensor_core_intrinsic(target, types) : "";
  const int64_t algorithm = knobs.choice(
      "algorithm", intrinsic.empty() ? std::vector<int64_t>{kThreads} : std::vector<int64_t>{kThreads, kTensorCores},
      intrinsic.empty() ? kThreads : kTensorCores, {{kThreads, "threads"}, {kTensorCores, "tensor_cores"}});
  knobs.when(algorithm == kThreads);
  matmul_by_threads(w, target, knobs, algorithm == kThreads ? out : nullptr);
  if (intrinsic.empty()) return;
  knobs.when(algorithm == kTensorCores);
  matmul_by_tensor_cores(w, target, intrinsic, knobs, algorithm == kTensorCores ? out : nullptr);
}

}  // namespace hone
