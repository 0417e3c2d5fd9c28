// dense_nbits: a tile of rows x a block of columns. For each block along k one set of accumulators sums the block's
// products, of numbers that are masked out of a vector of words and converted in registers, or of pairs of them as
// bf16; another set sums the blocks, scaled. Weights lie in panels of the columns, so that a task reads them as one
// stream.
#include <algorithm>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/dense_nbits.h"
#include "compiler/ops/templates/cpu/nest_block.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/tile.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

struct NbitsChoices {
  int64_t n_block, tile_m, unroll, vector_bits, partition;
  bool in_pairs;
  Split rows, columns;  // chunks (one for each task), tiles of a chunk
};

NbitsChoices choose_nbits(const Workload& w, const Target& target, Knobs& knobs) {
  const NbitsShape& s = nbits_shape(w);
  const int64_t lanes = target.lanes(accumulator_bits(w));
  NbitsChoices x;
  x.n_block = knobs.choice("n_block", vector_blocks(s.n, lanes, s.n), s.m == 1 ? 4 * lanes : 2 * lanes);
  const int64_t vectors = registers_of(x.n_block, lanes);
  const std::vector<int64_t> heights = covering_heights(s.m, {1, 2, 3, 4, 5, 6, 7, 8, 10, 12});
  x.tile_m = knobs.choice("tile_m", heights, usual_rows(heights, s.m, 2 * vectors, target));
  x.rows = chunks(ceil_div(s.m, x.tile_m), knobs.thread_choice("tasks_m", chunk_counts(s.m), 1));
  x.columns = chunks(ceil_div(s.n, x.n_block),
                     knobs.thread_choice("tasks_n", chunk_counts(ceil_div(s.n, lanes)), ceil_div(s.n, x.n_block)));
  const int64_t words = s.block / s.per_word();
  x.unroll = knobs.choice("unroll", {1, 2, 4}, 1);  // words of a block
  constexpr int64_t kFewRows = 8;  // more of them share a number that is converted, and multiply two parts of A each
  x.in_pairs = knobs.choice("pairs", s.bits == 4 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                            s.bits == 4 && s.m < kFewRows && target.has(Feature::kDotBf16) ? 1 : 0) != 0;
  x.vector_bits = choose_vector_bits(knobs, target);
  x.partition = knobs.thread_choice("partition", {0, 1}, 0, kPartitionWords);

  const int64_t used = registers_of(x.n_block, x.vector_bits / accumulator_bits(w));
  knobs.require("a block's accumulators leave registers for words and numbers",
                x.tile_m * used + used + 2 <= target.vector_registers);
  knobs.require("a block has as many words as are unrolled", x.unroll <= words);
  knobs.require("the unrolled body is small", x.tile_m * used * x.unroll * s.per_word() <= kMostUnrolledProduct);
  return x;
}

// Schedules the stages that depend on A alone: computed once for all columns.
void prepare_rows(Schedule& s, const Definition& d, const NbitsShape& shape, const NbitsChoices& x, int64_t lanes) {
  if (x.in_pairs) {
    const auto parts = s.loops(s.block("parts"));
    const auto [word, number] = s.split(parts[2], shape.per_word());
    s.reorder({parts[1], word, number, parts[0]});
    s.unroll(number);
    s.unroll(parts[0]);
    share_rows(s, shape, parts[1]);
  } else {
    const auto scaled = s.loops(s.block("scaled"));
    s.vectorize(s.split(scaled[1], std::min(lanes, shape.k)).second);
    share_rows(s, shape, scaled[0]);
  }
  sum_rows(s, d, shape);
}

void nbits_in_vectors(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const NbitsChoices x = choose_nbits(w, target, knobs);
  if (!out) return;
  const NbitsShape& shape = nbits_shape(w);

  const Definition d = x.in_pairs ? dense_nbits_in_pairs(w) : dense_nbits(w);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const auto [product, writer] = begin_tile(s, d);
  const auto axes = s.loops(writer);
  const auto rows = s.split(axes[0], std::vector<int64_t>{x.rows[0], x.rows[1], x.tile_m});
  const auto columns = s.split(axes[1], std::vector<int64_t>{x.columns[0], x.columns[1], x.n_block});
  s.reorder({columns[0], rows[0], columns[1], rows[1], rows[2], columns[2]});
  const LoopRef task = s.fuse(columns[0], rows[0]);
  s.vectorize(columns[2]);
  s.unroll(rows[2]);

  s.compute_at(product, rows[1]);
  const LoopRef block = s.loop(product, "block"), m = s.loop(product, "m"), n = s.loop(product, "n");
  s.reorder({block, m, n});
  s.vectorize(n);
  s.unroll(m);

  const BlockRef sums = s.block("blocks");
  s.set_scope(sums, BufferScope::kStack);
  s.compute_at(sums, block);
  const LoopRef own_m = s.loop(sums, "m"), own_n = s.loop(sums, "n"), number = s.loop(sums, "number");
  const auto [word, unrolled] = s.split(s.loop(sums, "word"), x.unroll);
  std::vector<LoopRef> order{word, unrolled, number};
  if (x.in_pairs) order.push_back(s.loop(sums, "part"));
  order.insert(order.end(), {own_m, own_n});
  s.reorder(order);
  if (x.in_pairs) s.unroll(order[3]);
  s.vectorize(own_n);
  s.unroll(own_m);
  s.unroll(number);
  s.unroll(unrolled);
  constexpr int64_t kWord = 4;  // bytes
  prefetch_constants(s, {block, word}, "b", shape.n * shape.words() * kWord, x.unroll * x.n_block * kWord);
  s.decompose_reduction(sums, word);
  s.decompose_reduction(product, block);

  prepare_rows(s, d, shape, x, target.lanes(accumulator_bits(w)));
  s.parallel(task);
  lay_out_weights(s, shape, x.n_block);
  s.annotate("vector_bits", x.vector_bits);
  s.annotate("partition", x.partition);
}

}  // namespace

void share_rows(Schedule& s, const NbitsShape& shape, LoopRef rows) {
  constexpr int64_t kManyElements = 1 << 16;  // of fewer, waking threads takes longer
  if (shape.m > 1 && shape.m * shape.k >= kManyElements) s.parallel(rows);
}

void sum_rows(Schedule& s, const Definition& d, const NbitsShape& shape) {
  const std::vector<const TensorNode*> stages = stages_of(d);
  if (std::none_of(stages.begin(), stages.end(), [](const TensorNode* t) { return t->name == "sums"; })) return;
  // Sums of several blocks side by side: one waits for itself.
  const BlockRef sums = s.block("sums");
  constexpr int64_t kSums = 8;
  const LoopRef number = s.loop(sums, "number");
  const auto [outer, inner] = s.split(s.loop(sums, "block"), std::min(kSums, shape.blocks()));
  s.reorder({outer, number, inner});
  s.unroll(inner);
  s.decompose_reduction(sums, number);
  share_rows(s, shape, s.loop(sums, "m"));
}

void lay_out_weights(Schedule& s, const NbitsShape& shape, int64_t columns) {
  const auto panels = [&](int64_t along_k) {
    return Layout{{{0, columns, ceil_div(shape.n, columns)}, {1, 1, along_k}, {0, 1, columns}}};
  };
  s.transform_layout("b", panels(shape.words()));
  s.transform_layout("scales", panels(shape.blocks()));
  if (!shape.zero) s.transform_layout("zeros", panels(shape.blocks()));
}

void dense_nbits_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const MatrixUnit* unit = nbits_unit(w, target);
  if (!unit) return nbits_in_vectors(w, target, knobs, out);
  // Numbers are converted once for all rows of a tile.
  const bool on_tiles = choose_unit(*unit, knobs, nbits_shape(w).m >= unit->rows);
  knobs.when(!on_tiles);
  nbits_in_vectors(w, target, knobs, on_tiles ? nullptr : out);
  knobs.when(on_tiles);
  dense_nbits_tiles(w, target, *unit, knobs, on_tiles ? out : nullptr);
}

}  // namespace hone
