// One step of a recurrent layer: the sums of all gates for a few sequences x a block of the state in vector registers
// while k runs through the state before; then the gates are applied to them, and the tile's new state is written. The
// weights lie in panels, so that a tile reads one stream.
#include <algorithm>
#include <set>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/recurrent.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/register_tile.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

struct RecurrentChoices {
  int64_t block, tile_b, unroll_k, vector_bits, partition;
  Split rows, columns;  // chunks (one for each task), tiles of a chunk
};

RecurrentChoices choose_recurrent(const Workload& w, const Target& target, Knobs& knobs) {
  const RecurrentShape& s = recurrent_shape(w);
  const int64_t lanes = target.lanes(accumulator_bits(w)), n = s.hidden;
  RecurrentChoices x;
  // Eight accumulators or more hide the latency of a multiply-add.
  x.block = knobs.choice("block", vector_blocks(n, lanes, n), (s.gates > 2 ? 2 : 4) * lanes);
  const int64_t vectors = s.gates * registers_of(x.block, lanes);
  const std::vector<int64_t> heights = covering_heights(s.batch, {1, 2, 3, 4, 5, 6, 7, 8, 10, 12});
  x.tile_b = knobs.choice("tile_b", heights, usual_rows(heights, s.batch, vectors, target));
  x.rows = chunks(ceil_div(s.batch, x.tile_b), knobs.thread_choice("tasks_b", chunk_counts(s.batch), 1));
  x.columns =
      chunks(ceil_div(n, x.block), knobs.thread_choice("tasks_j", chunk_counts(ceil_div(n, lanes)), target.threads));
  x.unroll_k = knobs.choice("unroll_k", {1, 2, 4, 8}, 2);
  x.vector_bits = choose_vector_bits(knobs, target);
  x.partition = knobs.thread_choice("partition", {0, 1}, 0, kPartitionWords);

  const int64_t registers = s.gates * registers_of(x.block, lanes * x.vector_bits / target.vector_bits);
  knobs.require("accumulators leave registers for an operand", x.tile_b * registers + 2 <= target.vector_registers);
  knobs.require("the state is as long as the unrolling", x.unroll_k <= n);
  knobs.require("the unrolled body is small", x.tile_b * registers * x.unroll_k <= kMostUnrolledProduct);
  return x;
}

// For a stage under `tile` (reverse_compute_at()): its columns become a vector, its other loops are unrolled.
void vectorize_columns(Schedule& s, BlockRef stage, LoopRef tile) {
  std::vector<LoopRef> own = s.loops(stage);
  own.erase(own.begin(), std::find_if(own.begin(), own.end(), [&](LoopRef l) { return l.id == tile.id; }) + 1);
  const auto column = s.find_loop(stage, "j_i");
  if (column) {
    std::erase_if(own, [&](LoopRef l) { return l.id == column->id; });
    own.push_back(*column);
    if (own.size() > 1) s.reorder(own);
    s.vectorize(*column);
    own.pop_back();
  }
  for (const LoopRef l : own) s.unroll(l);
}

// Tiles of `writers[0]`. Each tile computes the `sums` that it needs first, and the other `writers` behind.
void schedule_tiles(Schedule& s, const RecurrentChoices& x, const std::vector<std::string>& writers,
                    const std::vector<std::string>& sums) {
  const BlockRef writer = s.block(writers[0]);
  const LoopRef b = s.loop(writer, "b"), j = s.loop(writer, "j");
  const auto rows = s.split(b, std::vector<int64_t>{x.rows[0], x.rows[1], x.tile_b});
  const auto columns = s.split(j, std::vector<int64_t>{x.columns[0], x.columns[1], x.block});
  s.reorder({columns[0], rows[0], columns[1], rows[1], rows[2], columns[2]});
  const LoopRef task = fuse_all(s, {columns[0], rows[0]}), tile = rows[1];
  for (size_t i = 1; i < writers.size(); ++i) {
    const BlockRef next = s.block(writers[i]);
    s.reverse_compute_at(next, tile);
    vectorize_columns(s, next, tile);
  }
  s.vectorize(columns[2]);
  s.unroll(rows[2]);
  for (const std::string& name : sums) {
    const BlockRef sum = s.block(name);
    s.set_scope(sum, BufferScope::kStack);
    s.compute_at(sum, tile);
    const LoopRef row = s.loop(sum, "b"), gate = s.loop(sum, "g"), column = s.loop(sum, "j");
    const auto [k_o, k_u] = s.split(s.loop(sum, "k"), x.unroll_k);
    s.reorder({k_o, k_u, row, gate, column});
    s.vectorize(column);
    s.unroll(gate);
    s.unroll(row);
    s.unroll(k_u);
    s.decompose_reduction(sum, k_o);
  }
  if (s.extent(task) > 1) s.parallel(task);
}

// The sums of gates that a stage reads.
std::vector<std::string> sums_of(const TensorNode* stage) {
  std::vector<std::string> names;
  for (const auto& in : stage->inputs)
    if (in->reduce != ReduceKind::kNone) names.push_back(in->name);
  return names;
}

// All outputs are written in one nest. A stage that is neither output nor sum (a gated state) has a nest ahead of it.
void schedule_step(Schedule& s, const RecurrentChoices& x, const Definition& d) {
  std::vector<std::string> writers;
  std::set<std::string> sums;
  for (const TensorNode* stage : stages_of(d)) {
    if (stage->reduce != ReduceKind::kNone) continue;
    const auto own = sums_of(stage);
    if (std::none_of(d.outputs.begin(), d.outputs.end(), [&](const Tensor& t) { return t.node().get() == stage; })) {
      schedule_tiles(s, x, {stage->name}, own);
      continue;
    }
    writers.push_back(stage->name);
    sums.insert(own.begin(), own.end());
  }
  schedule_tiles(s, x, writers, {sums.begin(), sums.end()});
}

// [blocks][k][gate][block] where all gates are summed at once, else the gates outside.
Layout panels(const RecurrentShape& s, int64_t block, bool together) {
  const LayoutDim blocks{1, block, ceil_div(s.hidden, block)}, k{2, 1, s.hidden}, gates{0, 1, s.gates},
      lanes{1, 1, block};
  return together ? Layout{{blocks, k, gates, lanes}} : Layout{{gates, blocks, k, lanes}};
}

}  // namespace

void recurrent_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const RecurrentChoices x = choose_recurrent(w, target, knobs);
  if (!out) return;
  const RecurrentShape& shape = recurrent_shape(w);
  const Definition d = define(w);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  schedule_step(s, x, d);
  s.transform_layout("r", panels(shape, x.block, d.anchor->shape[1] == shape.gates));
  s.annotate("vector_bits", x.vector_bits);
  s.annotate("partition", x.partition);
}

}  // namespace hone
