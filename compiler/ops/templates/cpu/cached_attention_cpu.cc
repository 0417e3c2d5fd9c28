// Attention of a few queries over a cache: a task is the queries of one matrix. A key's row is read once, in vectors
// along it, for all queries; rows behind the newest key are skipped in blocks.
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

struct CacheChoices {
  int64_t tile_m, n_block, v_block;  // queries of a task; keys whose products run side by side; columns of values
  int64_t unroll_n;                  // values side by side
  int64_t lanes_k, lanes;            // of a product, and of the reductions of a row of scores
  int64_t partition;
};

// The choices that are not longer than `extent`; else the largest power of two that is not.
std::vector<int64_t> fitting(int64_t extent, int64_t lanes, std::vector<int64_t> choices) {
  std::erase_if(choices, [&](int64_t l) { return l > extent || l > kUsualMostLanes; });
  if (!choices.empty()) return choices;
  while (lanes > extent) lanes /= 2;
  return {lanes};
}

CacheChoices choose_cached(const Workload& w, const Target& target, Knobs& knobs) {
  const AttentionShape& s = attention_shape(w);
  const int64_t lanes = target.lanes(accumulator_bits(w));
  CacheChoices x{};
  x.tile_m = knobs.choice("tile_m", fitting(s.m, 1, {1, 2, 3, 4, 6, 8}), 8);
  x.n_block = knobs.choice("n_block", fitting(s.n, 8, {2, 4, 8, 16}), 4);
  x.v_block = knobs.choice("v_block", vector_blocks(s.v, lanes, s.v), 4 * lanes);
  x.unroll_n = knobs.choice("unroll_n", fitting(s.n, 1, {1, 2, 4}), 2);
  x.lanes_k = knobs.choice("lanes_k", fitting(s.k, lanes, {lanes, 2 * lanes}), lanes);
  x.lanes = knobs.choice("lanes", fitting(s.n, lanes, {lanes, 2 * lanes}), lanes);
  x.partition = knobs.thread_choice("partition", {0, 1}, 0, kPartitionWords);
  knobs.require("accumulators leave registers for both operands",
                (x.tile_m + 1) * registers_of(x.v_block, lanes) + 1 <= target.vector_registers);
  knobs.require("the unrolled body is small", x.tile_m * std::max(x.n_block * registers_of(x.lanes_k, lanes),
                                                                  x.unroll_n * registers_of(x.v_block, lanes)) <=
                                                  kMostUnrolledProduct);
  return x;
}

// One attention's stages in its schedule.
class CachedAttention {
 public:
  CachedAttention(Schedule& s, const CacheChoices& x, LoopRef task) : s_(s), x_(x), task_(task) {}

  // e V for a block of columns: all rows of the cache, some side by side.
  void mix(LoopRef columns) {
    const BlockRef sums = s_.block("mix");
    s_.set_scope(sums, BufferScope::kStack);
    s_.compute_at(sums, columns);
    const LoopRef row = s_.loop(sums, "m"), vector = s_.loop(sums, "v");
    const auto [outer, inner] = s_.split(s_.loop(sums, "n"), x_.unroll_n);
    s_.reorder({outer, inner, row, vector});
    s_.vectorize(vector);
    s_.unroll(row);
    s_.unroll(inner);
    s_.decompose_reduction(sums, outer);
    limit(outer, x_.unroll_n);
  }

  // The scores of a few keys, whose products `dots` then computes there.
  void scores(BlockRef block) {
    s_.compute_at(block, task_);
    const auto [outer, inner] = s_.split(s_.loop(block, "n"), x_.n_block);
    const LoopRef row = s_.loop(block, "m");
    s_.reorder({outer, row, inner});
    s_.unroll(inner);
    s_.unroll(row);
    limit(outer, x_.n_block);
    keys_ = outer;
  }

  // A stage of the products: `vector` where its last axis is lanes.
  void dots(BlockRef block, bool has_lanes, size_t reduced) {
    s_.set_scope(block, BufferScope::kStack);
    s_.compute_at(block, keys_);
    const LoopRef row = s_.loop(block, "m"), key = s_.loop(block, "n");
    if (reduced > 0) {
      const LoopRef step = own_loops(s_, block, 1)[0];
      s_.reorder({step, key, row});
      if (has_lanes) s_.reorder({row, s_.loop(block, "lane")});
      if (has_lanes) s_.vectorize(s_.loop(block, "lane"));
      const BlockRef zeros = s_.decompose_reduction(block, step);
      s_.unroll(s_.loop(zeros, "n"));
      s_.unroll(s_.loop(zeros, "m"));
    } else if (has_lanes) {
      s_.vectorize(s_.loop(block, "lane"));
    }
    s_.unroll(key);
    s_.unroll(row);
  }

  void limit(LoopRef loop, int64_t step) {
    if (s_.extent(loop) > 1) s_.annotate(loop, "limit:newest", step);
  }

 private:
  Schedule& s_;
  const CacheChoices& x_;
  const LoopRef task_;
  LoopRef keys_;
};

}  // namespace

void cached_attention_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const CacheChoices x = choose_cached(w, target, knobs);
  if (!out) return;

  Definition d = define(w);
  std::set<std::string> partials, products{"dots"};
  for (const char* reduction : {"dots", "most", "total"}) {
    const bool is_product = reduction == std::string_view("dots");
    const ReductionSplit split = split_reduction(d, reduction, 1, is_product ? x.lanes_k : x.lanes);
    d = split.definition;
    (is_product ? products : partials).insert(split.partials.begin(), split.partials.end());
  }
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  const std::vector<const TensorNode*> stages = stages_of(d);
  const auto is_in_front_of_epilogue = [](const TensorNode* t) { return t->name == "attention"; };
  if (std::any_of(stages.begin(), stages.end(), is_in_front_of_epilogue)) s.compute_inline(s.block("attention"));

  const auto axes = s.loops(s.block(d.output()->name));
  const auto [m_o, m_i] = s.split(axes[1], x.tile_m);
  const auto [v_o, v_i] = s.split(axes[2], x.v_block);
  s.reorder({axes[0], m_o, v_o, m_i, v_i});
  s.vectorize(v_i);
  s.unroll(m_i);
  const LoopRef task = s.fuse(axes[0], m_o);

  CachedAttention parts(s, x, task);
  parts.mix(v_o);
  for (auto t = stages.rbegin(); t != stages.rend(); ++t) {
    const std::string& name = (*t)->name;
    if (*t == d.output().node().get() || name == "attention" || name == "mix") continue;
    const BlockRef block = s.block(name);
    if (products.count(name)) {
      parts.dots(block, name != "dots", (*t)->reduce_axes.size());
    } else if (partials.count(name)) {
      s.set_scope(block, BufferScope::kStack);
      reduce_in_lanes(s, block, task, (*t)->axes.size(), (*t)->reduce_axes.size(), FusedChoices{});
    } else if (name == "scores") {
      parts.scores(block);
    } else if (name == "exp") {
      s.compute_at(block, task);
      const auto [outer, inner] = s.split(s.loop(block, "n"), x.lanes);
      s.vectorize(inner);
      parts.limit(outer, x.lanes);
    } else {  // one element a row
      s.compute_at(block, task);
      s.set_scope(block, BufferScope::kStack);
      if (name != "newest") s.unroll(s.loop(block, "m"));
    }
  }
  s.parallel(task);
  s.annotate("partition", x.partition);
}

}  // namespace hone
