// dense and batch_matmul: a tile of rows x a block of columns in vector registers while k runs; B in panels of the column block (packed ahead
// when constant, by each task on request when not), A broadcast, from a packed copy on request.
#include "compiler/ops/definition.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/template.h"

namespace hone {

void matmul_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const bool batched = w.task == "batch_matmul";
  const int64_t m = w.number("m"), n = w.number("n"), k = w.number("k"), lanes = target.f32_lanes();

  const int64_t n_block = knobs.choice("n_block", vector_blocks(n, lanes, n), 2 * lanes);
  const Split tile_m = knobs.split("tile_m", m, 2, {.max_inner = {28}, .prefer = {10}});
  const Split task_m = knobs.split("task_m", tile_m[0], 2, {.prefer = {4}});
  const Split task_n = knobs.split("task_n", ceil_div(n, n_block), 2, {.prefer = {1}});
  const bool m_inside = knobs.choice("m_inside", {0, 1}, 1) != 0;  // of a task's two loops over tiles, rows are the inner one
  const int64_t unroll_k = knobs.choice("unroll_k", {1, 2, 4, 8}, 2);
  const bool pack_a = knobs.choice("pack_a", {0, 1}, 0) != 0;
  const bool pack_b = knobs.choice("pack_b", batched ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}, batched && n % n_block != 0 ? 1 : 0) != 0;
  const int64_t vector_bits = knobs.choice("vector_bits", target.vector_bits > 256 ? std::vector<int64_t>{256, target.vector_bits} : std::vector<int64_t>{target.vector_bits}, target.vector_bits);

  const int64_t accumulators = tile_m[1] * registers_of(n_block, vector_bits / 32);
  knobs.require("accumulators leave registers for both operands", accumulators + registers_of(n_block, vector_bits / 32) + 1 <= target.vector_registers);
  knobs.require("unrolling divides k", k % unroll_k == 0);
  knobs.require("column tails need packed panels", !batched || pack_b || n % n_block == 0);
  knobs.require("row tails need a packed copy", pack_a || m % (tile_m[1] * task_m[1]) == 0 || m % tile_m[1] == 0);
  knobs.require("the unrolled body is small", accumulators * unroll_k <= 512);
  if (!out) return;

  const Definition d = matrix_product(w);
  *out = std::make_unique<Schedule>(d.inputs, d.output);
  Schedule& s = **out;
  const BlockRef product = s.block("matmul");
  const bool epilogue = d.output->name != "matmul";
  const BlockRef writer = epilogue ? s.block("out") : s.cache_write(product, BufferScope::kStack);
  if (epilogue) s.set_scope(product, BufferScope::kStack);

  const auto axes = s.loops(writer);
  const size_t row_axis = batched ? 1 : 0;
  const auto rows = s.split(axes[row_axis], std::vector<int64_t>{task_m[0], task_m[1], tile_m[1]});
  const auto columns = s.split(axes[row_axis + 1], std::vector<int64_t>{task_n[0], task_n[1], n_block});
  std::vector<LoopRef> order{columns[0], rows[0], m_inside ? columns[1] : rows[1], m_inside ? rows[1] : columns[1], rows[2], columns[2]};
  std::vector<LoopRef> tasks{columns[0], rows[0]};
  if (batched) {
    order.insert(order.begin(), axes[0]);
    tasks.insert(tasks.begin(), axes[0]);
  }
  s.reorder(order);
  const LoopRef task = fuse_all(s, tasks), inner = m_inside ? rows[1] : columns[1];
  s.vectorize(columns[2]);
  s.unroll(rows[2]);

  s.compute_at(product, inner);
  const LoopRef tile_rows = s.loop(product, "m"), tile_columns = s.loop(product, "n");
  const auto [k_o, k_u] = s.split(s.loop(product, "k"), unroll_k);
  s.reorder({k_o, k_u, tile_rows, tile_columns});
  s.vectorize(tile_columns);
  s.unroll(tile_rows);
  s.unroll(k_u);
  s.decompose_reduction(product, k_o);

  // Panels: [columns / block][k][block] and [rows / tile][k][tile], after the batch.
  const auto panels = [&](int column_axis, int k_axis, int64_t extent, int64_t block) {
    Layout l;
    if (batched) l.dims.push_back({0, 1, w.number("b")});
    l.dims.push_back({column_axis, block, ceil_div(extent, block)});
    l.dims.push_back({k_axis, 1, k});
    l.dims.push_back({column_axis, 1, block});
    return l;
  };
  if (pack_a) {
    const BlockRef copy = s.cache_read("a", product, BufferScope::kWorkspace);
    s.compute_at(copy, task);
    const LoopRef row = s.loop(copy, batched ? "i1" : "i0"), column = s.loop(copy, batched ? "i2" : "i1");
    const auto [row_o, row_i] = s.split(row, tile_m[1]);
    s.reorder({row_o, column, row_i});
    s.unroll(row_i);
    s.transform_layout("a_cache", panels(batched ? 1 : 0, batched ? 2 : 1, m, tile_m[1]));
  }
  if (pack_b) {
    const BlockRef copy = s.cache_read("b", product, BufferScope::kWorkspace);
    s.compute_at(copy, task);
    const LoopRef row = s.loop(copy, "i1"), column = s.loop(copy, "i2");
    const auto [column_o, column_i] = s.split(column, n_block);
    s.reorder({column_o, row, column_i});
    s.vectorize(column_i);
    s.transform_layout("b_cache", panels(2, 1, n, n_block));
  }
  s.parallel(task);
  if (!batched) s.transform_layout("b", panels(0, 1, n, n_block));
  s.annotate("vector_bits", vector_bits);
}

}  // namespace hone
