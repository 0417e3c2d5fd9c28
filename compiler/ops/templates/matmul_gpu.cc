// dense and batch_matmul on GPUs: a tile of rows x columns for each block (product_tile.h); A and B are staged in shared memory, k outermost, so that the
// threads of a warp read neighbouring words.
#include "compiler/ops/definition.h"
#include "compiler/ops/templates/product_tile.h"
#include "compiler/ops/templates/template.h"

namespace hone {

void matmul_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const bool batched = w.task == "batch_matmul";
  const int64_t m = w.number("m"), n = w.number("n"), k = w.number("k");
  const DTypes types = dtypes_of(w);
  const ProductTile tile = choose_product_tile(knobs, target, types, m, n, k);
  // Neighbours that one thread copies: along k of A and of dense's B [n, k], along n of batch_matmul's B [b, k, n].
  const int64_t vector_a = knobs.choice("vector_a", {1, 2, 4}, 1), vector_b = knobs.choice("vector_b", {1, 2, 4}, 1);
  knobs.require("vectors of A divide its rows", k % vector_a == 0 && tile.tile_k % vector_a == 0);
  knobs.require("vectors of B divide its rows", batched ? n % vector_b == 0 && tile.columns() % vector_b == 0 : k % vector_b == 0 && tile.tile_k % vector_b == 0);
  knobs.require("staged tiles fit the shared memory", types.in.bytes() * staged_elements(tile, tile.rows() * tile.tile_k, vector_a) + types.weight.bytes() * staged_elements(tile, tile.columns() * tile.tile_k, vector_b) <= target.shared_bytes);
  if (!out) return;

  const Definition d = matrix_product(w);
  *out = std::make_unique<Schedule>(d.inputs, d.output);
  Schedule& s = **out;
  const bool epilogue = d.output->name != "matmul";
  const BlockRef product = s.block("matmul");
  const BlockRef writer = epilogue ? s.block("out") : s.cache_write(product, BufferScope::kStack);
  if (epilogue) s.set_scope(product, BufferScope::kStack);
  const BlockRef a = s.cache_read("a", product, BufferScope::kShared), b = s.cache_read("b", product, BufferScope::kShared);

  const auto axes = s.loops(writer);  // (b,) m, n
  const std::vector<LoopRef> around(axes.begin(), axes.end() - 2);
  const LoopRef block = schedule_tile_writer(s, tile, around, axes[axes.size() - 2], axes.back());
  const LoopRef staged = schedule_tile_sum(s, tile, product, block, "m", "n", "k");
  schedule_cooperative(s, tile, a, staged, vector_a);
  schedule_cooperative(s, tile, b, staged, vector_b);
  const auto k_outermost = [&](int row_axis, int k_axis, int64_t rows) {
    Layout l;
    if (batched) l.dims.push_back({0, 1, w.number("b")});
    l.dims.push_back({k_axis, 1, k});
    l.dims.push_back({row_axis, 1, rows});
    return l;
  };
  s.transform_layout("a_cache", k_outermost(batched ? 1 : 0, batched ? 2 : 1, m));
  if (!batched) s.transform_layout("b_cache", k_outermost(0, 1, n));
}

}  // namespace hone
