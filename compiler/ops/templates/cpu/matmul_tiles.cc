// dense and batch_matmul on a unit of matrices: a block of sums, some tiles or vector registers high and wide, stays in
// registers while k runs; then the writer goes through its rows in vectors. B lies in panels of whole registers (a
// constant is packed ahead, else each task packs its columns); rows of A are read where they lie, or from such panels
// where k or the last block is not full or the input has a prologue. Zeros fill the panels' ends, so that every product
// is a whole one.
#include "compiler/ops/templates/cpu/matmul_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/nest_block.h"
#include "compiler/ops/templates/tile.h"

namespace hone {
namespace {

struct TileChoices {
  NestBlock block;
  Split rows, columns;  // chunks (one for each task), blocks of a chunk
  bool m_inside, pack_a;
  int64_t partition;
};

TileChoices choose_matmul_tiles(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs) {
  const ProductShape& p = product_shape(w);
  const bool on_tiles = unit.has_tiles();
  const auto name = [&](std::string_view knob) { return fmt::format("{}_{}", on_tiles ? "tile" : "mmla", knob); };
  TileChoices x;
  x.block = choose_block(unit, {.rows = p.m, .columns = p.n, .steps = ceil_div(p.k, unit.depth)},
                         {.block = on_tiles ? "tiles" : "mmla_block", .unroll = "mmla_unroll_k"}, knobs);
  const int64_t height = x.block.height(), width = x.block.width();
  const int64_t row_bytes = p.k * dtypes_of(w).in.bytes(),
                l2_rows = std::max<int64_t>(1, target.l2_bytes / 2 / row_bytes);
  const std::vector<int64_t> counts = chunk_counts(ceil_div(p.m, unit.rows));
  const int64_t row_blocks = ceil_div(p.m, height), row_tasks = ceil_div(p.m, l2_rows),
                column_blocks = ceil_div(p.n, width), tasks = 4 * static_cast<int64_t>(target.threads);
  x.rows = chunks(row_blocks, knobs.thread_choice(name("tasks_m"), counts,
                                                  on_tiles ? usual_chunks(counts, row_blocks, row_tasks) : row_tasks));
  // On one thread a copy of A that is read by all columns is made once.
  x.columns =
      chunks(column_blocks, knobs.thread_choice(name("tasks_n"), chunk_counts(ceil_div(p.n, unit.columns)),
                                                on_tiles || target.threads > 1 ? std::min(column_blocks, tasks) : 1));
  x.m_inside = knobs.choice(name("m_inside"), {0, 1}, 1) != 0;
  const bool is_whole = p.m % height == 0 && p.k % unit.depth == 0 && !changes_input(w);
  const bool is_read_often = !on_tiles && x.columns[1] >= kReadsThatPayACopy;
  x.pack_a = knobs.choice(name("pack_a"), {0, 1}, is_whole && !is_read_often ? 0 : 1) != 0;
  x.partition = knobs.thread_choice(name("partition"), {0, 1}, 0, kPartitionWords);
  knobs.require("rows of A that are read where they lie fill whole blocks", x.pack_a || is_whole);
  return x;
}

int64_t steps_of(const ProductShape& p, const MatrixUnit& u) { return ceil_div(p.k, u.depth); }

// [panels][steps of k][rows][depth] of a matrix of rows, behind the batch.
Layout row_panels(const MatrixUnit& u, const ProductShape& p, const TileChoices& x) {
  const int row = p.batched ? 1 : 0, k = row + 1;
  const int64_t height = x.block.panel_rows();
  Layout l;
  if (p.batched) l.dims.push_back({0, 1, p.b});
  l.dims.insert(l.dims.end(), {{row, height, x.rows[0] * x.rows[1] * x.block.height() / height},
                               {k, u.depth, steps_of(p, u)},
                               {row, 1, height},
                               {k, 1, u.depth}});
  return l;
}

// [panels][steps of k][words][columns][word], behind the batch.
Layout column_panels(const MatrixUnit& u, const ProductShape& p, const TileChoices& x) {
  const int column = p.batched ? 2 : 0, k = 1;
  const int64_t width = x.block.panel_columns();
  Layout l;
  if (p.batched) l.dims.push_back({0, 1, p.b});
  l.dims.insert(l.dims.end(),
                {{column, width, x.columns[0] * x.columns[1] * x.block.width() / width}, {k, u.depth, steps_of(p, u)}});
  if (u.depth > u.word) l.dims.push_back({k, u.word, u.depth / u.word});
  l.dims.insert(l.dims.end(), {{column, 1, width}, {k, 1, u.word}});
  return l;
}

// The copies of A and B that are filled up with zeros along k; no blocks where k is whole.
struct Filled {
  BlockRef a, b;
};
Filled fill_k(Schedule& s, const MatrixUnit& u, const ProductShape& p, BlockRef product) {
  if (p.k % u.depth == 0) return {};
  std::vector<int64_t> multiples(p.batched ? 4 : 3, 1);  // (b,) m, n, k
  multiples.back() = u.depth;
  const std::vector<BlockRef> copies = s.pad(product, multiples);
  return {copies.at(0), copies.at(1)};
}

// The copies that a task makes of its rows of A and, of a product whose B is no constant, of its columns of B.
void pack(Schedule& s, const Definition& d, const MatrixUnit& u, const ProductShape& p, const TileChoices& x,
          BlockRef product, const Filled& filled, LoopRef task) {
  const bool is_filled = p.k % u.depth != 0;
  if (x.pack_a) {
    const BlockRef copy = is_filled ? filled.a : cache_first_input(s, d, product, BufferScope::kWorkspace);
    s.compute_at(copy, task);
    const auto [steps, step] = s.split(s.loop(copy, p.batched ? "i2" : "i1"), u.depth);
    if (!u.has_tiles()) {
      // As it is written: for each step the rows of a block.
      const auto [panel, row] = s.split(s.loop(copy, p.batched ? "i1" : "i0"), x.block.panel_rows());
      s.reorder({panel, steps, row, step});
      s.unroll(row);
    }
    s.vectorize(step);
    s.transform_layout(s.buffer_of(copy), row_panels(u, p, x));
  }
  if (!p.batched) {
    s.transform_layout(is_filled ? s.buffer_of(filled.b) : "b", column_panels(u, p, x));
    if (is_filled) s.prepack(filled.b);
    return;
  }
  const BlockRef copy = is_filled ? filled.b : s.cache_read("b", product, BufferScope::kWorkspace);
  s.compute_at(copy, task);
  // As it is written: words, whose elements are of neighbouring rows.
  const int64_t lanes = std::gcd(x.block.panel_columns(), kUsualMostLanes / u.word);
  const auto [tile, column] = s.split(s.loop(copy, "i2"), lanes);
  const auto [words, word] = s.split(s.loop(copy, "i1"), u.word);
  s.reorder({tile, words, column, word});
  s.vectorize(s.fuse(column, word));
  s.transform_layout(s.buffer_of(copy), column_panels(u, p, x));
}

}  // namespace

const MatrixUnit* tile_unit_of(const Workload& w, const Target& target) {
  const DTypes& types = dtypes_of(w);
  if (types.tf32 || types.f16_runs || types.first_factor() != types.in) return nullptr;
  const MatrixUnit* unit = nest_unit(target, to_string(types.in), to_string(types.weight), to_string(types.accumulate));
  if (!unit) return nullptr;
  const ProductShape& p = product_shape(w);
  // The writer of a block of vector registers has at least a vector of columns.
  constexpr int64_t kLeastColumns = 4;
  const bool fits = unit->has_tiles() ? p.k > unit->depth / 4 && p.n > unit->columns / 4
                                      : p.k % unit->depth == 0 && p.n >= kLeastColumns;
  return fits ? unit : nullptr;
}

void matmul_tiles(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs,
                  std::unique_ptr<Schedule>* out) {
  const TileChoices x = choose_matmul_tiles(w, target, unit, knobs);
  if (!out) return;
  const ProductShape& p = product_shape(w);
  const Definition d = matrix_product(w);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const auto [sum, writer] = begin_tile(s, d);
  const Filled filled = fill_k(s, unit, p, sum);

  const auto axes = s.loops(writer);  // (b,) m, n
  const auto rows = s.split(axes[axes.size() - 2], std::vector<int64_t>{x.rows[0], x.rows[1], x.block.height()});
  const auto columns = s.split(axes.back(), std::vector<int64_t>{x.columns[0], x.columns[1], x.block.width()});
  std::vector<LoopRef> tasks(axes.begin(), axes.end() - 2);
  tasks.insert(tasks.end(), {columns[0], rows[0]});
  std::vector<LoopRef> order = tasks;
  order.insert(order.end(),
               {x.m_inside ? columns[1] : rows[1], x.m_inside ? rows[1] : columns[1], rows[2], columns[2]});
  s.reorder(order);
  const LoopRef task = fuse_all(s, tasks);
  s.vectorize(columns[2]);
  if (!unit.has_tiles()) s.unroll(rows[2]);

  s.compute_at(sum, x.m_inside ? rows[1] : columns[1]);
  const auto [tile_m, row] = s.split(s.loop(sum, "m"), unit.rows);
  const auto [tile_n, column] = s.split(s.loop(sum, "n"), unit.columns);
  schedule_steps(s, sum, s.loop(sum, "k"), {}, {tile_m, tile_n, row, column}, x.block);
  pack(s, d, unit, p, x, sum, filled, task);
  s.tensorize(sum, row, unit.name);
  s.parallel(task);
  s.annotate("partition", x.partition);
}

}  // namespace hone
