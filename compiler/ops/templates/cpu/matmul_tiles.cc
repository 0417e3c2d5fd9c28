// dense and batch_matmul on tiles: a block of sums, up to 4 tiles high or wide, stays in registers while k runs; then
// the writer goes through its rows in vectors. B lies in panels of whole tiles (a constant is packed ahead, else each
// task packs its columns); rows of A are read where they lie, or from such panels where k or the last tile is not full
// or the input has a prologue. Zeros fill the panels' ends, so that every product is of full tiles.
#include "compiler/ops/templates/cpu/matmul_tiles.h"

#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/tile.h"

namespace hone {
namespace {

struct TileChoices {
  int64_t high, wide;   // tiles of a block
  Split rows, columns;  // chunks (one for each task), blocks of a chunk
  bool m_inside, pack_a;
  int64_t partition;
};

TileChoices choose_matmul_tiles(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs) {
  const ProductShape& p = product_shape(w);
  TileChoices x;
  // Rows and columns, as two digits.
  const int64_t tiles = knobs.choice("tiles", {11, 12, 21, 22, 13, 31, 14, 41},
                                     p.m <= unit.rows      ? (p.n <= unit.columns ? 11 : 12)
                                     : p.n <= unit.columns ? 21
                                                           : 22);
  x.high = tiles / 10, x.wide = tiles % 10;
  const int64_t height = x.high * unit.rows, width = x.wide * unit.columns;
  const int64_t row_bytes = p.k * dtypes_of(w).in.bytes(),
                l2_rows = std::max<int64_t>(1, target.l2_bytes / 2 / row_bytes);
  const std::vector<int64_t> counts = chunk_counts(ceil_div(p.m, unit.rows));
  const int64_t blocks = ceil_div(p.m, height);
  x.rows =
      chunks(blocks, knobs.thread_choice("tile_tasks_m", counts, usual_chunks(counts, blocks, ceil_div(p.m, l2_rows))));
  x.columns = chunks(ceil_div(p.n, width),
                     knobs.thread_choice("tile_tasks_n", chunk_counts(ceil_div(p.n, unit.columns)),
                                         std::min(ceil_div(p.n, width), 4 * static_cast<int64_t>(target.threads))));
  x.m_inside = knobs.choice("tile_m_inside", {0, 1}, 1) != 0;
  const bool is_whole = p.m % height == 0 && p.k % unit.depth == 0 && !changes_input(w);
  x.pack_a = knobs.choice("tile_pack_a", {0, 1}, is_whole ? 0 : 1) != 0;
  x.partition = knobs.thread_choice("tile_partition", {0, 1}, 0, kPartitionWords);
  knobs.require("a block is not much larger than the product", height < p.m + unit.rows && width < p.n + unit.columns);
  knobs.require("rows of A that are read where they lie fill whole blocks", x.pack_a || is_whole);
  return x;
}

// Tiles of all blocks along an axis, also of those of the last chunk that lie behind its end.
int64_t tiles_along(const Split& blocks, int64_t tiles_of_block) { return blocks[0] * blocks[1] * tiles_of_block; }

int64_t steps_of(const ProductShape& p, const MatrixUnit& u) { return ceil_div(p.k, u.depth); }

// [tiles][steps of k][rows][depth] of a matrix of rows, behind the batch.
Layout row_panels(const MatrixUnit& u, const ProductShape& p, const TileChoices& x) {
  const int row = p.batched ? 1 : 0, k = row + 1;
  Layout l;
  if (p.batched) l.dims.push_back({0, 1, p.b});
  l.dims.insert(
      l.dims.end(),
      {{row, u.rows, tiles_along(x.rows, x.high)}, {k, u.depth, steps_of(p, u)}, {row, 1, u.rows}, {k, 1, u.depth}});
  return l;
}

// [tiles][steps of k][words][columns][word], behind the batch.
Layout column_panels(const MatrixUnit& u, const ProductShape& p, const TileChoices& x) {
  const int column = p.batched ? 2 : 0, k = 1;
  Layout l;
  if (p.batched) l.dims.push_back({0, 1, p.b});
  l.dims.insert(l.dims.end(), {{column, u.columns, tiles_along(x.columns, x.wide)},
                               {k, u.depth, steps_of(p, u)},
                               {k, u.word, u.depth / u.word},
                               {column, 1, u.columns},
                               {k, 1, u.word}});
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
    s.vectorize(s.split(s.loop(copy, p.batched ? "i2" : "i1"), u.depth).second);
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
  const auto [tile, column] = s.split(s.loop(copy, "i2"), u.columns);
  const auto [words, word] = s.split(s.loop(copy, "i1"), u.word);
  s.reorder({tile, words, column, word});
  s.vectorize(s.fuse(column, word));
  s.transform_layout(s.buffer_of(copy), column_panels(u, p, x));
}

}  // namespace

const MatrixUnit* tile_unit_of(const Workload& w, const Target& target) {
  const DTypes& types = dtypes_of(w);
  if (types.tf32 || types.f16_runs || types.first_factor() != types.in) return nullptr;
  const MatrixUnit* unit = tile_unit(target, to_string(types.in), to_string(types.weight), to_string(types.accumulate));
  if (!unit) return nullptr;
  const ProductShape& p = product_shape(w);
  return p.k > unit->depth / 4 && p.n > unit->columns / 4 ? unit : nullptr;
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
  const auto rows = s.split(axes[axes.size() - 2], std::vector<int64_t>{x.rows[0], x.rows[1], x.high * unit.rows});
  const auto columns = s.split(axes.back(), std::vector<int64_t>{x.columns[0], x.columns[1], x.wide * unit.columns});
  std::vector<LoopRef> tasks(axes.begin(), axes.end() - 2);
  tasks.insert(tasks.end(), {columns[0], rows[0]});
  std::vector<LoopRef> order = tasks;
  order.insert(order.end(),
               {x.m_inside ? columns[1] : rows[1], x.m_inside ? rows[1] : columns[1], rows[2], columns[2]});
  s.reorder(order);
  const LoopRef task = fuse_all(s, tasks);
  s.vectorize(columns[2]);

  s.compute_at(sum, x.m_inside ? rows[1] : columns[1]);
  const auto [tile_m, row] = s.split(s.loop(sum, "m"), unit.rows);
  const auto [tile_n, column] = s.split(s.loop(sum, "n"), unit.columns);
  const auto k = s.split(s.loop(sum, "k"), std::vector<int64_t>{0, unit.depth / unit.word, unit.word});
  s.reorder({k[0], tile_m, tile_n, row, column, k[1], k[2]});
  const BlockRef zeros = s.decompose_reduction(sum, k[0]);
  s.vectorize(s.loops(zeros).back());
  s.unroll(tile_m);
  s.unroll(tile_n);
  pack(s, d, unit, p, x, sum, filled, task);
  s.tensorize(sum, row, unit.name);
  s.parallel(task);
  s.annotate("partition", x.partition);
}

}  // namespace hone
