#include "compiler/ops/templates/product_tile.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/unroll_limits.h"

#include <numeric>
#include <span>

namespace hone {
namespace {

constexpr int64_t kGroup = 4;              // columns that a thread reads at once
constexpr int64_t kMaxRegisters = 255;     // registers of a thread, on every NVIDIA architecture since Kepler
constexpr int64_t kProductRegisters = 32;  // of a thread beside its accumulators: addresses, counters

std::vector<LoopRef> loops_named(Schedule& s, BlockRef block, const std::vector<std::string>& names) {
  std::vector<LoopRef> out;
  for (const std::string& name : names) out.push_back(s.loop(block, name));
  return out;
}

}  // namespace

// On an H100 (132 multiprocessors) the best configs of convolutions as products (C1-C12, 64 to 92 trials each) have 98
// to 784 tiles, of 32 x 4 to 64 x 32. With tiles of 64 x 64, the default before, a late layer has 8.
ProductTile usual_product_tile(const Target& target, int64_t m, int64_t n, int64_t products) {
  struct Row {
    int64_t threads_m, threads_n, tile_m, tile_n;
  };
  constexpr Row kTall[] = {{16, 16, 4, 4}, {16, 8, 4, 4}, {16, 8, 4, 2}, {16, 4, 4, 2}, {16, 4, 2, 2}, {16, 2, 2, 2}},
                kFlat[] = {{4, 16, 1, 4}, {4, 16, 1, 2}, {4, 16, 1, 1}};
  const std::span<const Row> rows = m >= 17 ? std::span<const Row>(kTall) : kFlat;
  ProductTile best;
  for (const Row& row : rows) {
    const ProductTile tile{row.threads_m, row.threads_n, row.tile_m, row.tile_n, 16};
    const bool fits = tile.rows() < 2 * std::max<int64_t>(m, 8) && tile.columns() < 2 * std::max<int64_t>(n, 8);
    if (fits || &row == &rows.back()) best = tile;
    if (fits && 4 * products * ceil_div(m, tile.rows()) * ceil_div(n, tile.columns()) >= 3 * target.sms) break;
  }
  return best;
}

ProductTile choose_product_tile(Knobs& knobs, const Target& target, const DTypes& types, int64_t m, int64_t n,
                                int64_t k, const ProductTile& usual, const std::vector<int64_t>& tiles_k,
                                const std::string& prefix, bool may_double_buffer) {
  int64_t usual_k = tiles_k.front();
  for (const int64_t tile : tiles_k)
    if (tile <= std::min(usual.tile_k, k)) usual_k = std::max(usual_k, tile);
  ProductTile t;
  t.threads_m = knobs.choice(prefix + "threads_m", {1, 2, 4, 8, 16, 32}, usual.threads_m);
  t.threads_n = knobs.choice(prefix + "threads_n", {1, 2, 4, 8, 16, 32, 64}, usual.threads_n);
  t.tile_m = knobs.choice(prefix + "tile_m", {1, 2, 4, 8}, usual.tile_m);
  t.tile_n = knobs.choice(prefix + "tile_n", {1, 2, 4, 8}, usual.tile_n);
  t.tile_k = knobs.choice(prefix + "tile_k", tiles_k, usual_k);
  t.strided = knobs.choice(prefix + "strided", {0, 1}, 0) != 0;
  t.unroll_k = knobs.choice(prefix + "unroll_k", {0, 1}, 1) != 0;

  // Double buffers pay where copies are asynchronous.
  const bool copies_ahead = target.has(Feature::kAsyncCopy);
  if (may_double_buffer) {
    // OpenCL has no asynchronous copies. (PoCL 3.1, optimising, also miscounts iterations of some loops with one
    // barrier.)
    t.double_buffer =
        knobs.choice(prefix + "double_buffer",
                     target.has(Feature::kDoubleBuffer) ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                     copies_ahead && k > usual_k ? 1 : 0) != 0;
    knobs.require("there is a next tile to fetch", !t.double_buffer || k > t.tile_k);
  }

  const int64_t words = ceil_div(types.accumulate.bytes(), 4);
  t.registers = words * (t.tile_m * t.tile_n + t.tile_m + t.tile_n) + kProductRegisters;
  knobs.require("a block has at most as many threads as the device allows", t.threads() <= target.max_threads);
  knobs.require("a block fills a warp where there is work for one",
                t.threads() >= std::min<int64_t>(target.warp, m * n));
  knobs.require("accumulators fit the registers",
                t.registers <= kMaxRegisters && t.registers * t.threads() <= target.registers_per_sm);
  knobs.require("the tile is not much larger than the product",
                t.rows() < 2 * std::max<int64_t>(m, 8) && t.columns() < 2 * std::max<int64_t>(n, 8));
  knobs.require("k fills its tile", t.tile_k <= std::max<int64_t>(k, tiles_k.front()));
  knobs.require("strided columns come in more than one group", !t.strided || t.tile_n > kGroup);
  knobs.require("the unrolled body is small", !t.unroll_k || t.tile_k * t.tile_m * t.tile_n <= kMostUnrolledTile);
  return t;
}

int64_t staged_elements(const ProductTile& tile, int64_t elements, int64_t vector) {
  const int64_t round = tile.threads() * vector;
  // With k outermost the layout rounds the other axis up, for each k.
  return ceil_div(ceil_div(elements, round) * round, tile.tile_k) * tile.tile_k;
}

void double_buffer_staged(Schedule& s, const ProductTile& tile, std::initializer_list<BlockRef> copies) {
  for (const BlockRef copy : copies)
    if (tile.double_buffer) s.double_buffer(copy);
}

LoopRef schedule_tile_writer(Schedule& s, const ProductTile& tile, const std::vector<LoopRef>& around, LoopRef row,
                             LoopRef column) {
  const auto rows = s.split(row, std::vector<int64_t>{0, tile.threads_m, tile.tile_m});
  // Strided: groups, threads, columns of a group; else threads, columns.
  const auto columns = tile.strided
                           ? s.split(column, std::vector<int64_t>{0, tile.tile_n / kGroup, tile.threads_n, kGroup})
                           : s.split(column, std::vector<int64_t>{0, tile.threads_n, tile.tile_n});
  const LoopRef thread = columns[columns.size() - 2], last = columns.back();
  std::vector<LoopRef> order = around;
  order.insert(order.end(), {rows[0], columns[0], rows[1], thread, rows[2]});
  if (tile.strided) order.push_back(columns[1]);
  order.push_back(last);
  s.reorder(order);
  for (const LoopRef block : around) s.bind(block, LoopKind::kBlock);
  s.bind(rows[0], LoopKind::kBlock);
  s.bind(columns[0], LoopKind::kBlock);
  s.bind(rows[1], LoopKind::kThread);
  s.bind(thread, LoopKind::kThread);
  s.unroll(rows[2]);
  if (tile.strided) s.unroll(columns[1]);
  s.vectorize(last);
  return columns[0];
}

LoopRef schedule_tile_sum(Schedule& s, const ProductTile& tile, BlockRef sum, LoopRef at, std::string_view row,
                          std::string_view column, std::string_view k, const std::vector<std::string>& outside,
                          const std::vector<std::string>& inside) {
  s.compute_at(sum, at);
  const auto [thread_m, row_i] = s.split(s.loop(sum, row), tile.tile_m);
  std::vector<LoopRef> columns;
  if (tile.strided) {
    columns = s.split(s.loop(sum, column), std::vector<int64_t>{0, tile.threads_n, kGroup});
  } else {
    const auto [o, i] = s.split(s.loop(sum, column), tile.tile_n);
    columns = {o, i};
  }
  const LoopRef thread_n = columns[columns.size() - 2], column_i = columns.back();
  const auto [k_o, k_i] = s.split(s.loop(sum, k), tile.tile_k);
  std::vector<LoopRef> order = loops_named(s, sum, outside);
  std::vector<LoopRef> around = order;
  around.push_back(k_o);
  order.insert(order.end(), {k_o, thread_m, thread_n});
  const std::vector<LoopRef> own = loops_named(s, sum, inside);
  order.insert(order.end(), own.begin(), own.end());
  order.insert(order.end(), {k_i, row_i});
  if (tile.strided) order.push_back(columns[0]);
  order.push_back(column_i);
  s.reorder(order);
  s.bind(thread_m, LoopKind::kThread);
  s.bind(thread_n, LoopKind::kThread);
  s.unroll(row_i);
  if (tile.strided) s.unroll(columns[0]);
  s.vectorize(column_i);
  if (tile.unroll_k) s.unroll(k_i);
  // One loop over all, so that the last tile of an outer iteration fetches the first tile of the next.
  const LoopRef staged = tile.double_buffer ? fuse_all(s, around) : k_o;
  s.decompose_reduction(sum, tile.double_buffer ? staged : around.front());
  return staged;
}

void schedule_cooperative(Schedule& s, int64_t threads, BlockRef copy, LoopRef at, int64_t vector) {
  s.compute_at(copy, at);
  std::vector<LoopRef> own;
  for (const LoopRef l : s.loops(copy)) own.push_back(l);
  // The loops of `at` come first, the copy's own loops after them.
  const auto begin = std::find_if(own.begin(), own.end(), [&](const LoopRef& l) { return l.id == at.id; }) + 1;
  own.erase(own.begin(), begin);
  LoopRef lanes{-1};
  if (vector > 1) {
    const auto [o, i] = s.split(own.back(), vector);
    own.back() = o;
    lanes = i;
  }
  const auto [round, thread] = s.split(fuse_all(s, own), threads);
  s.reorder({thread, round});  // rounds of a thread need no barrier between them
  s.bind(thread, LoopKind::kThread);
  if (vector > 1) s.vectorize(lanes);
}

void schedule_cooperative(Schedule& s, int64_t threads, BlockRef copy, LoopRef at, int64_t vector,
                          const std::vector<std::string>& others, std::string_view outer, std::string_view inner) {
  s.compute_at(copy, at);
  LoopRef y = s.loop(copy, outer), x = s.loop(copy, inner), lanes{-1};
  if (vector > 1) std::tie(x, lanes) = s.split(x, vector);
  // The largest numbers of threads that divide both the axis and the block.
  const int64_t threads_x = std::gcd(s.extent(x), threads), threads_y = std::gcd(s.extent(y), threads / threads_x);
  const auto [y_o, y_i] = s.split(y, threads_y);
  const auto [x_o, x_i] = s.split(x, threads_x);
  std::vector<LoopRef> order{y_i, x_i};  // rounds of a thread need no barrier between them
  for (const LoopRef l : loops_named(s, copy, others)) order.push_back(l);
  order.insert(order.end(), {y_o, x_o});
  if (vector > 1) order.push_back(lanes);
  s.reorder(order);
  s.bind(y_i, LoopKind::kThread);
  s.bind(x_i, LoopKind::kThread);
  if (vector > 1) s.vectorize(lanes);
}

}  // namespace hone
