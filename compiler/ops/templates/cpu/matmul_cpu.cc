// dense and batch_matmul: a tile of rows x a block of columns in vector registers while k runs. B lies in panels of the
// column block (a constant is packed ahead, else each task may pack its panels); A is broadcast, optionally from a
// packed copy. The tails of rows, columns and k are guards of their loops, which legalize takes out of whole tiles.
// Where rows and columns are too few for all threads, k is cut into parts that are added up afterwards. For very few
// columns vectors run along k (fused_cpu).
#include <numeric>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/products/runs.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/matmul_tiles.h"
#include "compiler/ops/templates/cpu/nest_block.h"
#include "compiler/ops/templates/fused.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

struct MatmulChoices {
  int64_t n_block, tile_m, unroll_k, vector_bits;
  int64_t partition;    // of tasks: a range for each thread, or claimed one at a time
  int64_t split_k;      // parts of k, each with tasks of its own
  Split rows, columns;  // chunks (one for each task), tiles of a chunk
  bool m_inside, pack_a, pack_b;
  int64_t word;  // elements of k that one lane's step takes
};

std::vector<int64_t> tile_heights(int64_t m) {
  return covering_heights(m, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 20, 28});
}

// The height of a default tile beside `vectors` of columns, whose rows of A lie `row_bytes` apart. Rows that lie whole
// or half pages apart share a set or two of the first cache, of 8 or 12 lines each: products of 1024 x 1024 have 103
// GFLOPS with tiles of 12 rows and 112 with 8 where k is 1024 or 512 (Zen 4), and 112 with both where k is 1280. So few
// rows that one tile holds all stay in one tile: a second one would read B again.
int64_t usual_height(int64_t m, int64_t vectors, int64_t row_bytes, const Target& target, bool by_lanes) {
  constexpr int64_t kHalfPage = 2048;
  const int64_t most = m > 12 && row_bytes % kHalfPage == 0 ? 8 : 12;
  std::vector<int64_t> heights = tile_heights(m);
  std::erase_if(heights, [&](int64_t t) { return t > most; });
  return usual_rows(heights, m, vectors, target, by_lanes);
}

// Tasks of rows: each task's part of A, which every panel of B meets, stays in L2.
int64_t row_tasks_in_l2(const ProductShape& p, int64_t element_bytes, const Target& target) {
  constexpr int64_t kMostRows = 256;
  const int64_t fitting = std::max<int64_t>(1, target.l2_bytes / 2 / std::max<int64_t>(1, p.k * element_bytes));
  return ceil_div(p.m, std::min(kMostRows, fitting));
}

// Tasks of columns: a panel each. But where n does not fill the last one, one task has them all if the others occupy
// the threads: that panel is another loop then, where in tasks of their own all panels are read and written under masks
// (65 columns: 0.52 instead of 0.32 ms).
int64_t usual_column_tasks(const ProductShape& p, int64_t lanes, int64_t row_tasks, const Target& target) {
  const int64_t tasks = std::max<int64_t>(1, p.b) * row_tasks;
  const bool has_threads = target.threads == 1 || tasks >= 4 * target.threads;
  return p.n % (2 * lanes) != 0 && has_threads ? 1 : ceil_div(p.n, 2 * lanes);
}

// How many parts k may be cut into: few, and long ones.
std::vector<int64_t> split_counts(int64_t k, int64_t word) {
  std::vector<int64_t> counts;
  for (const int64_t c : divisors(k / word, 16))
    if (c == 1 || k / c >= 64) counts.push_back(c);
  return counts;
}

MatmulChoices choose_matmul(const Workload& w, const Target& target, Knobs& knobs) {
  const bool batched = product_shape(w).batched;
  const int64_t m = product_shape(w).m, n = product_shape(w).n, k = product_shape(w).k,
                lanes = target.lanes(accumulator_bits(w));
  const bool by_lanes = multiplies_by_lanes(target, dtypes_of(w));
  MatmulChoices x;
  x.n_block = knobs.choice("n_block", vector_blocks(n, lanes, n), m == 1 ? 4 * lanes : 2 * lanes);
  const int64_t word = elements_of_dot(w, k, x.n_block);
  x.tile_m =
      knobs.choice("tile_m", tile_heights(m),
                   usual_height(m, registers_of(x.n_block, lanes), k * dtypes_of(w).in.bytes(), target, by_lanes));
  const int64_t row_tasks = row_tasks_in_l2(product_shape(w), dtypes_of(w).in.bytes(), target);
  x.rows = chunks(ceil_div(m, x.tile_m), knobs.thread_choice("tasks_m", chunk_counts(m), row_tasks));
  // Elements are converted once for several panels; bf16, whose conversion is a shift, is read where it lies.
  const bool copies = only_widens_input(w) && dtypes_of(w).in == f16 && n >= 4 * x.n_block * target.threads;
  x.columns = chunks(
      ceil_div(n, x.n_block),
      knobs.thread_choice("tasks_n", chunk_counts(ceil_div(n, lanes)),
                          copies ? target.threads : usual_column_tasks(product_shape(w), lanes, row_tasks, target)));
  x.m_inside = knobs.choice("m_inside", {0, 1}, 1) != 0;  // rows are the inner one of a task's two loops over tiles
  const bool has_runs = dtypes_of(w).f16_runs;
  x.split_k = knobs.thread_choice("split_k", has_runs ? std::vector<int64_t>{1} : split_counts(k, word), 1);
  x.unroll_k = knobs.choice("unroll_k", {1, 2, 4, 8}, by_lanes && k % 4 == 0 ? 4 : 2);
  x.pack_a = knobs.choice("pack_a", {0, 1}, copies ? 1 : 0) != 0;
  x.pack_b = knobs.choice("pack_b", batched ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          batched && word > 1 ? 1 : 0) != 0;
  x.word = batched && !x.pack_b ? 1 : word;  // rows of k are no neighbours in B as it is given
  x.vector_bits = choose_vector_bits(knobs, target);
  x.partition = knobs.thread_choice("partition", {0, 1}, 0, kPartitionWords);

  const int64_t accumulators = x.tile_m * registers_of(x.n_block, x.vector_bits / accumulator_bits(w));
  knobs.require(
      "accumulators leave registers for both operands",
      accumulators + registers_of(x.n_block, x.vector_bits / accumulator_bits(w)) + 1 <= target.vector_registers);
  knobs.require("k is as long as its unrolling", x.unroll_k <= (has_runs ? runs_of(k).length : k / x.word / x.split_k));
  knobs.require("the unrolled body is small", accumulators * x.unroll_k <= kMostUnrolledProduct);
  knobs.require("a task reads its packed rows more than once", !x.pack_a || x.columns[1] > 1);
  knobs.require("a task reads its packed panels more than once", !x.pack_b || x.rows[1] > 1);
  return x;
}

// [tiles][k / word][tile][word] of an axis cut into tiles of `block`, after the batch.
Layout panels(const Workload& w, int axis, int k_axis, int64_t extent, int64_t block, int64_t word) {
  Layout l;
  if (product_shape(w).batched) l.dims.push_back({0, 1, product_shape(w).b});
  l.dims.push_back({axis, block, ceil_div(extent, block)});
  append_words(&l, k_axis, product_shape(w).k, word, axis, block);
  return l;
}

// The stages after the parts: vectors of columns, rows in parallel.
void sum_parts(Schedule& s, const Definition& d, const MatmulChoices& x) {
  const BlockRef sum = s.block("matmul");
  const auto axes = s.loops(sum);  // (b,) m, n, part
  const auto [column_o, column_i] = s.split(axes[axes.size() - 2], x.n_block);
  std::vector<LoopRef> order(axes.begin(), axes.end() - 2);
  order.insert(order.end(), {column_o, axes.back(), column_i});
  s.reorder(order);
  s.vectorize(column_i);
  s.decompose_reduction(sum, axes.back());
  order.erase(order.end() - 2, order.end());
  s.parallel(fuse_all(s, order));
  if (!has_epilogue(d)) return;
  auto out = s.loops(s.block(d.output()->name));
  s.vectorize(s.split(out.back(), x.n_block).second);
  out.pop_back();
  s.parallel(fuse_all(s, out));
}

// The copies that each task makes of its rows of A and its panels of B.
void pack(Schedule& s, const Workload& w, const Definition& d, const MatmulChoices& x, BlockRef product, LoopRef task) {
  const bool batched = product_shape(w).batched;
  const int row_axis = batched ? 1 : 0, k_axis = row_axis + 1;
  if (x.pack_a) {
    const BlockRef copy = cache_first_input(s, d, product, BufferScope::kWorkspace);
    s.compute_at(copy, task);
    const LoopRef row = s.loop(copy, batched ? "i1" : "i0"), column = s.loop(copy, batched ? "i2" : "i1");
    const auto [row_o, row_i] = s.split(row, x.tile_m);
    s.reorder({row_o, column, row_i});
    s.unroll(row_i);
    s.transform_layout(s.buffer_of(copy), panels(w, row_axis, k_axis, product_shape(w).m, x.tile_m, x.word));
  }
  if (x.pack_b) {
    const BlockRef copy = s.cache_read("b", product, BufferScope::kWorkspace);
    s.compute_at(copy, task);
    const LoopRef row = s.loop(copy, "i1"), column = s.loop(copy, "i2");
    const auto [column_o, column_i] = s.split(column, x.n_block);
    const auto [row_o, row_w] = split_word(s, row, x.word);
    if (row_w) {
      // As it is written: words, whose elements are of neighbouring rows.
      const auto [words_o, words_i] = s.split(column_i, std::gcd(x.n_block, kUsualMostLanes / x.word));
      s.reorder({column_o, row_o, words_o, words_i, *row_w});
      s.vectorize(s.fuse(words_i, *row_w));
    } else {
      s.reorder({column_o, row, column_i});
      s.vectorize(column_i);
    }
    s.transform_layout(s.buffer_of(copy), panels(w, 2, 1, product_shape(w).n, x.n_block, x.word));
  }
}

// Columns that would fill a quarter of a vector at most: k is the vector then.
bool is_along_k(const Workload& w, const Target& target) {
  const ProductShape& p = product_shape(w);
  const int64_t lanes = target.lanes(accumulator_bits(w));
  return p.n <= lanes / 4 && p.k >= 2 * lanes && dtypes_of(w).in == dtypes_of(w).accumulate;
}

// Whether the unit computes the sums by default. Tiles that would be mostly empty are left to vectors. Blocks of
// two rows have twice the products of an instruction of vectors (docs/matrix-units.md); one row has more products where
// vectors have no instruction for the types.
bool suits_product(const MatrixUnit& unit, const Workload& w) {
  const ProductShape& p = product_shape(w);
  if (!unit.has_tiles()) return p.m > 1 || dot_intrinsic(w).empty();
  return 2 * p.m >= unit.rows && p.n >= unit.columns && 2 * p.k >= unit.depth;
}

void matmul_in_vectors(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  if (is_along_k(w, target)) {
    const int64_t n = product_shape(w).n;  // side by side they read a row of A once
    const std::vector<int64_t> rows = n == 1 ? std::vector<int64_t>{1} : std::vector<int64_t>{1, n};
    return fused_cpu(product_along_k(w), target, knobs, out, {{"columns"}, rows, n});
  }
  const MatmulChoices x = choose_matmul(w, target, knobs);
  if (!out) return;
  const bool batched = product_shape(w).batched;

  const Definition d = split_matrix_product(w, x.split_k);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const auto [sum, writer] = dtypes_of(w).f16_runs ? begin_tile(s, d) : begin_product(s, d);
  const bool split = x.split_k > 1;
  if (split) sum_parts(s, d, x);

  const auto axes = s.loops(writer);
  const size_t leading = (batched ? 1 : 0) + (split ? 1 : 0), row_axis = leading;
  const auto rows = s.split(axes[row_axis], std::vector<int64_t>{x.rows[0], x.rows[1], x.tile_m});
  const auto columns = s.split(axes[row_axis + 1], std::vector<int64_t>{x.columns[0], x.columns[1], x.n_block});
  std::vector<LoopRef> order{
      columns[0], rows[0], x.m_inside ? columns[1] : rows[1], x.m_inside ? rows[1] : columns[1], rows[2], columns[2]};
  std::vector<LoopRef> tasks{columns[0], rows[0]};
  order.insert(order.begin(), axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(leading));
  tasks.insert(tasks.begin(), axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(leading));
  s.reorder(order);
  const LoopRef task = fuse_all(s, tasks), inner = x.m_inside ? rows[1] : columns[1];
  s.vectorize(columns[2]);
  s.unroll(rows[2]);

  s.compute_at(sum, inner);
  const BlockRef product = begin_runs(s, d, sum, {"m"}, "n");
  const LoopRef tile_rows = s.loop(product, "m"), tile_columns = s.loop(product, "n");
  const auto [k_words, k_w] = split_word(s, s.loop(product, "k"), x.word);
  const auto [k_o, k_u] = s.split(k_words, x.unroll_k);
  std::vector<LoopRef> sum_order{k_o, k_u, tile_rows, tile_columns};
  if (k_w) sum_order.push_back(*k_w);
  s.reorder(sum_order);
  if (!k_w) s.vectorize(tile_columns);
  s.unroll(tile_rows);
  s.unroll(k_u);
  constexpr int64_t kManyRows = 4;  // fewer are a stream, which the processor reads ahead itself
  if (!batched && x.tile_m >= kManyRows)
    prefetch_constants(s, {k_o}, "b", product_shape(w).n * product_shape(w).k * dtypes_of(w).in.bytes(),
                       x.unroll_k * x.word * x.n_block * dtypes_of(w).in.bytes());
  const BlockRef zeros = s.decompose_reduction(product, k_o);
  if (k_w) s.vectorize(s.loop(zeros, "n"));

  pack(s, w, d, x, product, task);
  s.parallel(task);
  if (!batched) s.transform_layout("b", panels(w, 0, 1, product_shape(w).n, x.n_block, x.word));
  if (k_w) s.tensorize(product, tile_columns, dot_intrinsic(w));
  s.annotate("vector_bits", x.vector_bits);
  s.annotate("partition", x.partition);
}

}  // namespace

void matmul_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const MatrixUnit* unit = tile_unit_of(w, target);
  if (!unit) return matmul_in_vectors(w, target, knobs, out);
  const bool on_unit = choose_unit(*unit, knobs, suits_product(*unit, w));
  knobs.when(!on_unit);
  matmul_in_vectors(w, target, knobs, on_unit ? nullptr : out);
  knobs.when(on_unit);
  matmul_tiles(w, target, *unit, knobs, on_unit ? out : nullptr);
}

}  // namespace hone
