// Attention: a task is a few queries of one matrix. Their scores with all keys lie in a cache, from the first product's
// tiles to the second's; a tile of either is held in vector registers. A maximum and a sum for each query run between.
#include <algorithm>
#include <set>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/attention.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/reduction_nest.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

struct AttentionChoices {
  int64_t tile_m, n_block, v_block;  // queries of a task; columns of a tile of scores, and of values
  int64_t unroll_k, unroll_n;        // steps of the two products side by side
  int64_t lanes;                     // of the reductions of a row of scores
  int64_t partition;
};

// Choices of lanes: one to four vectors that fit a row; for short rows the largest power of two that fits.
std::vector<int64_t> row_lanes(int64_t n, int64_t lanes) {
  std::vector<int64_t> out;
  for (const int64_t l : {lanes, 2 * lanes, 4 * lanes})
    if (l <= n && l <= kUsualMostLanes) out.push_back(l);
  if (!out.empty()) return out;
  while (lanes > n) lanes /= 2;
  return {lanes};
}

AttentionChoices choose_attention(const Workload& w, const Target& target, Knobs& knobs) {
  const AttentionShape& s = attention_shape(w);
  const int64_t lanes = target.lanes(accumulator_bits(w));
  AttentionChoices x{};
  const std::vector<int64_t> heights = covering_heights(s.m, {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16});
  x.tile_m = knobs.choice("tile_m", heights, target.vector_registers >= 32 ? 12 : 6);
  x.n_block = knobs.choice("n_block", vector_blocks(s.n, lanes, s.n), 2 * lanes);
  x.v_block = knobs.choice("v_block", vector_blocks(s.v, lanes, s.v), 2 * lanes);
  x.unroll_k = knobs.choice("unroll_k", {1, 2, 4}, 2);
  x.unroll_n = knobs.choice("unroll_n", {1, 2, 4}, 2);
  x.lanes = knobs.choice("lanes", row_lanes(s.n, lanes), 2 * lanes);
  x.partition = knobs.thread_choice("partition", {0, 1}, 0, kPartitionWords);

  for (const int64_t block : {x.n_block, x.v_block}) {
    const int64_t registers = registers_of(block, lanes);
    knobs.require("accumulators leave registers for both operands",
                  x.tile_m * registers + registers + 1 <= target.vector_registers);
    knobs.require("the unrolled body is small",
                  x.tile_m * registers * std::max(x.unroll_k, x.unroll_n) <= kMostUnrolledProduct);
  }
  knobs.require("steps exist", x.unroll_k <= s.k && x.unroll_n <= s.n);
  return x;
}

// The sums of a tile, in registers: the last axis in vectors, `unroll` steps side by side.
void schedule_sums(Schedule& s, BlockRef sums, LoopRef at, std::string_view reduced, std::string_view column,
                   int64_t unroll) {
  s.set_scope(sums, BufferScope::kStack);
  s.compute_at(sums, at);
  const LoopRef row = s.loop(sums, "m"), vector = s.loop(sums, column);
  const auto [outer, inner] = s.split(s.loop(sums, reduced), unroll);
  s.reorder({outer, inner, row, vector});
  s.vectorize(vector);
  s.unroll(row);
  s.unroll(inner);
  s.decompose_reduction(sums, outer);
}

}  // namespace

void attention_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const AttentionChoices x = choose_attention(w, target, knobs);
  if (!out) return;

  Definition d = define(w);
  std::set<std::string> partials;
  for (const char* reduction : {"most", "total"}) {
    const ReductionSplit split = split_reduction(d, reduction, 1, x.lanes);
    d = split.definition;
    partials.insert(split.partials.begin(), split.partials.end());
  }
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const std::vector<const TensorNode*> stages = stages_of(d);
  const auto is_in_front_of_epilogue = [](const TensorNode* t) { return t->name == "attention"; };
  if (std::any_of(stages.begin(), stages.end(), is_in_front_of_epilogue)) s.compute_inline(s.block("attention"));

  const BlockRef writer = s.block(d.output()->name);
  const auto axes = s.loops(writer);
  const auto [m_o, m_i] = s.split(axes[1], x.tile_m);
  const auto [v_o, v_i] = s.split(axes[2], x.v_block);
  s.reorder({axes[0], m_o, v_o, m_i, v_i});
  s.vectorize(v_i);
  s.unroll(m_i);
  const LoopRef task = s.fuse(axes[0], m_o);

  schedule_sums(s, s.block("mix"), v_o, "n", "v", x.unroll_n);
  for (auto t = stages.rbegin(); t != stages.rend(); ++t) {
    const std::string& name = (*t)->name;
    if (*t == d.output().node().get() || name == "attention" || name == "mix" || name == "dots") continue;
    const BlockRef block = s.block(name);
    if (partials.count(name)) {
      s.set_scope(block, BufferScope::kStack);
      FusedChoices k;
      reduce_in_lanes(s, block, task, (*t)->axes.size(), (*t)->reduce_axes.size(), k);
      continue;
    }
    s.compute_at(block, task);
    if (name == "exp") {
      s.vectorize(s.split(s.loop(block, "n"), x.lanes).second);
    } else if (name == "scores") {
      const auto [n_o, n_i] = s.split(s.loop(block, "n"), x.n_block);
      const LoopRef row = s.loop(block, "m");
      s.reorder({n_o, row, n_i});
      s.vectorize(n_i);
      s.unroll(row);
      schedule_sums(s, s.block("dots"), n_o, "k", "n", x.unroll_k);
    } else {  // one element a row
      s.set_scope(block, BufferScope::kStack);
      s.unroll(s.loop(block, "m"));
    }
  }
  s.parallel(task);
  s.annotate("partition", x.partition);
}

}  // namespace hone
