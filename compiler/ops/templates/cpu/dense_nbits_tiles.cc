// dense_nbits on tiles: a task makes the numbers of its columns bf16, in panels of whole tiles, a block of columns at a
// time, which all its rows meet. The sums of a block along k begin at zero in tiles; vectors scale them and add them to
// those of the blocks before. A is cut into parts of bf16 once for all columns.
#include "compiler/ops/templates/cpu/dense_nbits.h"

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/nest_block.h"
#include "compiler/ops/templates/tile.h"

namespace hone {
namespace {

struct NbitsTiles {
  NestBlock block;
  Split rows, columns;  // chunks (one for each task), blocks of a chunk
  int64_t partition;
};

NbitsTiles choose_nbits_tiles(const NbitsShape& s, const Target& target, const MatrixUnit& unit, Knobs& knobs) {
  NbitsTiles x;
  x.block = choose_block(unit, {.rows = s.m, .columns = s.n, .steps = s.block / unit.depth},
                         {.block = "tiles", .unroll = {}}, knobs);
  const int64_t height = x.block.height(), width = x.block.width();
  x.rows =
      chunks(ceil_div(s.m, height), knobs.thread_choice("tile_tasks_m", chunk_counts(ceil_div(s.m, unit.rows)), 1));
  x.columns = chunks(ceil_div(s.n, width),
                     knobs.thread_choice("tile_tasks_n", chunk_counts(ceil_div(s.n, unit.columns)),
                                         std::min(ceil_div(s.n, width), 4 * static_cast<int64_t>(target.threads))));
  x.partition = knobs.thread_choice("tile_partition", {0, 1}, 0, kPartitionWords);
  return x;
}

// A's parts as [part][tiles][steps of k][rows][depth].
void lay_out_parts(Schedule& s, const NbitsShape& shape, const MatrixUnit& u, const NbitsTiles& x, int64_t parts) {
  s.transform_layout("parts", Layout{{{0, 1, parts},
                                      {1, u.rows, x.rows[0] * x.rows[1] * x.block.high},
                                      {2, u.depth, shape.k / u.depth},
                                      {1, 1, u.rows},
                                      {2, 1, u.depth}}});
}

// The numbers of a block of columns as [tiles][steps of k][words][columns][word].
void schedule_numbers(Schedule& s, const NbitsShape& shape, const MatrixUnit& u, const NbitsTiles& x, LoopRef at) {
  const BlockRef numbers = s.block("numbers");
  s.compute_at(numbers, at);
  const auto [tile, column] = s.split(s.loop(numbers, "n"), u.columns);
  const auto [bits, number] = s.split(s.loop(numbers, "k"), shape.per_word());
  s.reorder({tile, bits, number, column});
  s.unroll(number);
  s.vectorize(column);
  s.transform_layout("numbers", Layout{{{0, u.columns, x.columns[0] * x.columns[1] * x.block.wide},
                                        {1, u.depth, shape.k / u.depth},
                                        {1, u.word, u.depth / u.word},
                                        {0, 1, u.columns},
                                        {1, 1, u.word}}});
}

// The sums of one block along k, of the rows and columns of `at`.
void schedule_blocks(Schedule& s, const NestBlock& block, LoopRef at) {
  const BlockRef sums = s.block("blocks");
  s.set_scope(sums, BufferScope::kStack);
  s.compute_at(sums, at);
  const auto [tile_m, row] = s.split(s.loop(sums, "m"), block.unit->rows);
  const auto [tile_n, column] = s.split(s.loop(sums, "n"), block.unit->columns);
  const LoopRef part = s.loop(sums, "part");
  schedule_steps(s, sums, s.loop(sums, "number"), {part}, {tile_m, tile_n, row, column}, block);
  s.unroll(part);
  s.tensorize(sums, row, block.unit->name);
}

}  // namespace

const MatrixUnit* nbits_unit(const Workload& w, const Target& target) {
  const MatrixUnit* unit = nest_unit(target, "bf16", "bf16", "f32");
  const NbitsShape& s = nbits_shape(w);
  return unit && unit->has_tiles() && s.block % unit->depth == 0 && s.m > unit->rows / 4 && s.n > unit->columns / 4
             ? unit
             : nullptr;
}

void dense_nbits_tiles(const Workload& w, const Target& target, const MatrixUnit& unit, Knobs& knobs,
                       std::unique_ptr<Schedule>* out) {
  const NbitsShape& shape = nbits_shape(w);
  const NbitsTiles x = choose_nbits_tiles(shape, target, unit, knobs);
  if (!out) return;
  const Definition d = dense_nbits_in_parts(w, x.rows[0] * x.rows[1] * x.block.height());
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const auto [product, writer] = begin_tile(s, d);
  const auto axes = s.loops(writer);
  const auto rows = s.split(axes[0], std::vector<int64_t>{x.rows[0], x.rows[1], x.block.height()});
  const auto columns = s.split(axes[1], std::vector<int64_t>{x.columns[0], x.columns[1], x.block.width()});
  s.reorder({columns[0], rows[0], columns[1], rows[1], rows[2], columns[2]});
  const LoopRef task = s.fuse(columns[0], rows[0]);
  s.vectorize(columns[2]);

  s.compute_at(product, rows[1]);
  const LoopRef block = s.loop(product, "block");
  s.reorder({block, s.loop(product, "m"), s.loop(product, "n")});
  s.vectorize(s.loop(product, "n"));
  schedule_blocks(s, x.block, block);
  s.decompose_reduction(product, block);
  schedule_numbers(s, shape, unit, x, columns[1]);

  const int64_t lanes = target.lanes(accumulator_bits(w));
  const auto parts = s.loops(s.block("parts"));
  s.reorder({parts[1], parts[2], parts[0]});
  const auto [k_o, k_i] = s.split(parts[2], std::min(lanes, shape.k));
  s.reorder({k_o, parts[0], k_i});
  s.unroll(parts[0]);
  s.vectorize(k_i);
  share_rows(s, shape, parts[1]);
  lay_out_parts(s, shape, unit, x, parts_of(w));
  sum_rows(s, d, shape);
  lay_out_weights(s, shape, x.block.width());
  s.parallel(task);
  s.annotate("partition", x.partition);
}

}  // namespace hone
