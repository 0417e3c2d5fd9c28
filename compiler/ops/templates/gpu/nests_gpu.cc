#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/ops/templates/gpu/generic_gpu.h"
#include "compiler/ops/templates/gpu/reduction_gpu.h"
#include "compiler/ops/templates/kept_stages.h"
#include "compiler/ops/templates/reduction_nest.h"
#include "compiler/ops/templates/stage_nests.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

struct GpuNestChoices {
  int64_t threads;  // of a block
  int64_t lanes;    // threads of a row that a reduction has
  int64_t unroll_k;
};

GpuNestChoices choose_gpu_nests(const Definition& d, const Target& target, Knobs& knobs) {
  int64_t bytes = 1;
  for (const TensorNode* t : stages_of(d)) bytes = std::max<int64_t>(bytes, t->buffer->dtype.bytes());
  GpuNestChoices k;
  k.threads = knobs.choice("threads", {32, 64, 128, 256}, 128);
  k.lanes = knobs.choice("lanes", {1, 4, 16, 32, 64, 128, 256}, 64);
  k.unroll_k = knobs.choice("unroll_k", {1, 2, 4}, 2);
  constexpr int64_t kRegisters = 32;
  knobs.require("lanes are threads of a block", k.lanes <= k.threads);
  require_room(knobs, target, {k.threads, kRegisters, 2 * k.threads * bytes});
  return k;
}

// The largest power of two up to `width` that wastes less than half of `extent`.
int64_t power_within(int64_t extent, int64_t width) {
  while (width > 1 && width >= 2 * extent) width /= 2;
  return width;
}

}  // namespace

void nests_gpu(const Definition& original, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  Definition d = collapse(original);
  const Definition whole = d;
  const GpuNestChoices k = choose_gpu_nests(whole, target, knobs);
  if (!out) return;

  const std::vector<const TensorNode*> logical = stages_of(whole);
  std::set<std::string> kept = kept_stages(d, Keep::kExpensive), nests = kept;
  for (const Tensor& t : d.outputs) nests.insert(t->name);
  std::map<std::string, ReductionSplit> splits;
  std::map<std::string, GpuReduceChoices> choices;
  for (const TensorNode* t : logical) {
    if (t->reduce == ReduceKind::kNone) continue;
    GpuReduceChoices& c = choices[t->name];
    c.chunks = 1;
    c.along = reduces_neighbours(t);
    c.lanes = power_within(t->reduce_axes.back().extent, k.lanes);
    c.rows = power_within(t->shape.back(), k.threads / c.lanes);
    c.unroll_k = k.unroll_k;
    c.warp = 1;
    ReductionSplit& split = splits[t->name] = split_reduction(d, t->name, 1, c.lanes);
    d = split.definition;
    kept.insert(split.partials.begin(), split.partials.end());
    kept.insert(t->name);
  }
  const std::vector<const TensorNode*> stages = stages_of(d);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  inline_others(s, d, kept);
  for (const TensorNode* t : logical) {
    if (const auto split = splits.find(t->name); split != splits.end()) {
      GpuReductions(s, stages, choices.at(t->name)).schedule(t->name, t->name, split->second.partials);
    } else if (nests.count(t->name)) {
      const auto [blocks, threads] = s.split(fuse_all(s, s.loops(s.block(t->name))), k.threads);
      s.bind(blocks, LoopKind::kBlock);
      s.bind(threads, LoopKind::kThread);
    }
  }
}

void generic_gpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  if (reads_stored_elements(d)) return stage_nests_gpu(d, target, knobs, out);
  const Definition collapsed = behind_early_outputs(collapse(d)).rest;
  const std::optional<RowGroup> g = find_rows(collapsed);
  // A block's rows are those of the last row axis in every stage.
  bool in_order = g.has_value();
  for (const TensorNode* t : stages_of(collapsed)) {
    if (!in_order) break;
    std::optional<size_t> before;
    for (const auto& axis : g->axes.at(t->name)) {
      if (!axis || !g->is_row_axis(*axis)) continue;
      in_order = in_order && (!before || *before < *axis);
      before = axis;
    }
  }
  if (in_order) return row_wise_gpu(d, target, knobs, out);
  nests_gpu(d, target, knobs, out);
}

void generic_workload_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule) {
  generic_gpu(define(w), target, knobs, schedule);
}

}  // namespace hone
