// Rows on GPUs: a block has some rows, each with as many threads as a reduction has lanes. The threads of a row reduce
// its elements in turn, combine their results in shared memory or by shuffles, and then write the row.
#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/ops/templates/gpu/generic_gpu.h"
#include "compiler/ops/templates/gpu/reduction_gpu.h"
#include "compiler/ops/templates/kept_stages.h"
#include "compiler/ops/templates/reduction_nest.h"

namespace hone {
namespace {

constexpr int64_t kRowRegisters = 40;  // of a thread, estimated

struct GpuRowChoices {
  GpuReduceChoices reduce;
  bool keep = false;  // stages of a row that are read more than once lie in shared memory
};

std::vector<int64_t> powers_to(int64_t most) {
  std::vector<int64_t> out;
  for (int64_t n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// The largest power of two up to `width` that wastes less than half of `extent`.
int64_t lanes_in(int64_t extent, int64_t width) {
  while (width > 1 && width >= 2 * extent) width /= 2;
  return width;
}

// The stages that are kept where `keep` is set: with one element a row always, so that each is computed once.
std::set<std::string> kept_on_gpu(const Definition& d, const RowGroup& g, bool keep) {
  std::set<std::string> kept;
  for (const std::string& name : kept_stages(d, Keep::kRepeated)) {
    const bool expensive = kept_stages(d, Keep::kExpensive).count(name) > 0;
    if (g.has_rows(name) && (g.reaches_inside(name) ? keep && expensive : expensive)) kept.insert(name);
  }
  // Stages that are too long to be inlined are always kept.
  for (const std::string& name : kept_stages(d, Keep::kNothing)) kept.insert(name);
  return kept;
}

// Bytes of a row of the kept stages.
int64_t kept_bytes(const Definition& d, const RowGroup& g, const std::set<std::string>& kept) {
  int64_t bytes = 0;
  for (const TensorNode* t : stages_of(d)) {
    if (!kept.count(t->name) || !g.has_rows(t->name)) continue;
    int64_t own = t->buffer->dtype.bytes();
    const auto& axes = g.axes.at(t->name);
    for (size_t a = 0; a < axes.size(); ++a)
      if (!axes[a] || !g.is_row_axis(*axes[a])) own = std::min(own * t->shape[a], int64_t{1} << 30);
    bytes += own;
  }
  return bytes;
}

GpuRowChoices choose_gpu_rows(const Definition& d, const RowGroup& g, const Target& target, Knobs& knobs) {
  std::vector<const TensorNode*> reductions;
  for (const TensorNode* t : stages_of(d))
    if (t->reduce != ReduceKind::kNone) reductions.push_back(t);
  int64_t length = 1, bytes = 0;
  bool alike = true;
  for (const TensorNode* r : reductions) {
    alike = alike && r->reduce_axes.back().extent == reductions[0]->reduce_axes.back().extent;
    length = std::max(length, r->reduce_axes.back().extent);
    bytes += 2 * r->buffer->dtype.bytes();
  }
  const int64_t last = d.output()->shape[g.rows.back()];
  GpuRowChoices k;
  k.reduce.along = g.along;
  k.reduce.chunks = 1;
  k.reduce.lanes = knobs.choice("lanes", powers_to(std::min<int64_t>(2 * length - 1, target.max_threads)),
                                g.along ? std::min<int64_t>(256, ceil_div(length, 4)) : 4);
  k.reduce.rows = knobs.choice("rows", powers_to(std::min<int64_t>(2 * last - 1, 256)),
                               g.along ? std::max<int64_t>(1, 512 / length) : 32);
  k.reduce.unroll_k = knobs.choice("unroll_k", {1, 2, 4, 8}, 4);
  const bool can_shuffle = g.along && alike && target.has(Feature::kWarpShuffle);
  const bool shuffle = knobs.choice("shuffle", can_shuffle ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                                    can_shuffle && length > 8 ? 1 : 0) != 0;
  k.reduce.warp = shuffle ? std::min<int64_t>(32, k.reduce.lanes) : 1;
  k.keep = knobs.choice("keep", {0, 1}, 0) != 0;
  knobs.require("whole warps shuffle", !shuffle || (k.reduce.lanes >= 4 && k.reduce.lanes * k.reduce.rows % 32 == 0));
  knobs.require("a block fills a warp where there is work for one",
                k.reduce.lanes * k.reduce.rows >= std::min<int64_t>(target.warp, last * length));
  const int64_t shared =
      k.reduce.lanes * k.reduce.rows * bytes + k.reduce.rows * kept_bytes(d, g, kept_on_gpu(d, g, k.keep));
  require_room(knobs, target, {k.reduce.lanes * k.reduce.rows, kRowRegisters, shared});
  return k;
}

class GpuRows {
 public:
  GpuRows(Schedule& s, const RowGroup& g, const GpuRowChoices& k) : s_(s), g_(g), k_(k) {}

  // Gives the writer's loops to blocks and threads. Returns the innermost loop over blocks.
  LoopRef write(BlockRef writer) {
    const std::vector<LoopRef> loops = s_.loops(writer);
    std::vector<LoopRef> blocks, inside;
    for (const size_t a : g_.rows) blocks.push_back(loops[a]);
    for (const size_t a : g_.inside) inside.push_back(loops[a]);
    const auto [outer, row] = s_.split(blocks.back(), k_.reduce.rows);
    blocks.back() = outer;
    bind(blocks, row, inside);
    return outer;
  }

  // A stage without a reduction in shared memory: a row of it by the row's threads.
  void keep(BlockRef stage, const TensorNode* t, LoopRef block) {
    s_.set_scope(stage, BufferScope::kShared);
    s_.compute_at(stage, block);
    const std::vector<LoopRef> own = own_loops(s_, stage, t->axes.size());
    const auto& axes = g_.axes.at(t->name);
    std::vector<LoopRef> others, inside;
    LoopRef row = own[0];
    for (size_t a = 0; a < own.size(); ++a) {
      if (axes[a] == g_.rows.back())
        row = own[a];
      else
        (axes[a] && g_.is_row_axis(*axes[a]) ? others : inside).push_back(own[a]);
    }
    bind(others, row, inside);
  }

 private:
  // outer, row, inside  ->  outer, threads of rows and of lanes, the rest inside
  void bind(const std::vector<LoopRef>& outer, LoopRef row, std::vector<LoopRef> inside) {
    std::vector<LoopRef> order = outer, threads{row};
    if (!inside.empty()) {
      const auto [rounds, lane] = s_.split(inside.back(), k_.reduce.lanes);
      inside.back() = rounds;
      threads.insert(g_.along ? threads.end() : threads.begin(), lane);
    }
    order.insert(order.end(), threads.begin(), threads.end());
    order.insert(order.end(), inside.begin(), inside.end());
    s_.reorder(order);
    if (first_) {
      for (const LoopRef l : outer) s_.bind(l, LoopKind::kBlock);
      first_ = false;
    }
    for (const LoopRef l : threads) s_.bind(l, LoopKind::kThread);
  }

  Schedule& s_;
  const RowGroup& g_;
  const GpuRowChoices& k_;
  bool first_ = true;  // the writer, whose outer loops are blocks
};

}  // namespace

void row_wise_gpu(const Definition& original, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const Definition all = collapse(original);
  const auto [whole, early] = behind_early_outputs(all);
  const std::optional<RowGroup> rows = find_rows(whole);
  HONE_USER_CHECK(rows) << "row_wise_gpu: the reductions do not share rows";
  const RowGroup& g = *rows;
  const GpuRowChoices k = choose_gpu_rows(whole, g, target, knobs);
  if (!out) return;

  Definition d = all;
  const std::set<std::string> kept = kept_on_gpu(whole, g, k.keep);
  std::set<std::string> placed = kept;
  std::map<std::string, std::vector<std::string>> partials;
  std::map<std::string, GpuReduceChoices> choices;
  for (const TensorNode* t : stages_of(whole)) {
    if (t->reduce == ReduceKind::kNone) continue;
    GpuReduceChoices& c = choices[t->name] = k.reduce;
    c.lanes = lanes_in(t->reduce_axes.back().extent, c.lanes);
    const ReductionSplit split = split_reduction(d, t->name, 1, c.lanes, c.lanes > 1 ? c.warp : 1);
    d = split.definition;
    partials[t->name] = split.partials;
    placed.insert(split.partials.begin(), split.partials.end());
    placed.insert(t->name);
  }
  const std::vector<const TensorNode*> stages = stages_of(d);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  inline_others(s, d, placed);
  const std::string& end_name = whole.output()->name;
  const TensorNode* end =
      *std::find_if(stages.begin(), stages.end(), [&](const TensorNode* t) { return t->name == end_name; });
  std::vector<std::string> launches = early;  // of their own: stages without rows, computed before or shared by all
  for (const std::string& name : kept)
    if (!g.has_rows(name)) launches.push_back(name);
  for (const std::string& name : launches) {
    constexpr int64_t kThreads = 128;
    const auto [blocks, threads] = s.split(fuse_all(s, s.loops(s.block(name))), kThreads);
    s.bind(blocks, LoopKind::kBlock);
    s.bind(threads, LoopKind::kThread);
  }
  GpuRows scheduler(s, g, k);
  const LoopRef block = scheduler.write(
      end->reduce != ReduceKind::kNone ? s.cache_write(s.block(end->name), BufferScope::kStack) : s.block(end->name));
  for (auto t = stages.rbegin(); t != stages.rend(); ++t) {
    const std::string& name = (*t)->name;
    if (const auto found = partials.find(name); found != partials.end()) {
      GpuReductions reductions(s, stages, choices.at(name));
      if (found->second.empty()) {
        // One lane: a thread a row, whose result all threads of the row read.
        if (*t != end) reductions.compute_rows(s.cache_write(s.block(name), BufferScope::kStack), *t, block);
        reductions.reduce(s.block(name), *t, block, false);
        continue;
      }
      if (*t != end) reductions.compute_rows(s.block(name), *t, block);
      reductions.schedule_partials(found->second, block);
    } else if (kept.count(name) && g.has_rows(name)) {
      scheduler.keep(s.block(name), *t, block);
    }
  }
}

}  // namespace hone
