// reduce on GPUs: a block computes some rows of the output. The threads of a row reduce its elements in turn (thread t
// the elements t, t + threads, …) in registers, then combine their results pairwise in shared memory or by shuffles.
// Few long rows are cut into chunks for several blocks, which a second launch combines.
#include "compiler/ops/definition.h"
#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/gpu/common_gpu.h"
#include "compiler/ops/templates/gpu/reduction_gpu.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

// Registers of a thread, estimated: NVRTC takes 16 to 64, and never more than a block's threads leave it.
constexpr int64_t kRegisters = 32;

std::vector<int64_t> powers_below(int64_t end, int64_t most) {
  std::vector<int64_t> out{1};
  for (int64_t n = 2; n < end && n <= most; n *= 2) out.push_back(n);
  return out;
}

// True when the reduction's last axis walks through neighbours in memory.
bool reduces_contiguous_axis(const TensorNode* r) {
  const Load* op = as<Load>(r->body);
  return op && uses_var(op->indices.back(), r->reduce_axes.back().var.get());
}

// How many chunks the first axis may be cut into: powers of two, none of them empty and each with some work.
std::vector<int64_t> chunk_choices(const TensorNode* r, int64_t terms) {
  constexpr int64_t kLeast = 64, kMost = 256;
  const int64_t first = r->reduce_axes.front().extent;
  std::vector<int64_t> out{1};
  for (int64_t n = 2; n <= std::min(kMost, terms / kLeast); n *= 2)
    if (ceil_div(first, n) * (n - 1) < first) out.push_back(n);
  return out;
}

GpuReduceChoices choose(const TensorNode* r, const Target& target, Knobs& knobs) {
  const int64_t length = r->reduce_axes.back().extent, last = r->shape.back(), bytes = r->buffer->dtype.bytes();
  int64_t terms = 1, outputs = 1;
  for (const Axis& a : r->reduce_axes) terms *= a.extent;
  for (const int64_t n : r->shape) outputs *= n;
  GpuReduceChoices k;
  k.along = reduces_contiguous_axis(r);
  // Enough blocks for all multiprocessors.
  k.chunks = knobs.choice("chunks", chunk_choices(r, terms),
                          std::max<int64_t>(1, std::min(int64_t{2} * target.sms / outputs, terms / 4096)));
  k.lanes = knobs.choice("lanes", powers_below(2 * length, target.max_threads),
                         k.along ? std::min<int64_t>(256, ceil_div(length, 4)) : 4);
  k.rows = knobs.choice("rows", powers_below(2 * last, 256), k.along ? 1 : 32);
  k.unroll_k = knobs.choice("unroll_k", {1, 2, 4, 8}, 4);
  const bool can_shuffle = k.along && target.has(Feature::kWarpShuffle);
  const bool shuffle = knobs.choice("shuffle", can_shuffle ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                                    can_shuffle && length > 8 ? 1 : 0) != 0;
  k.warp = shuffle ? std::min<int64_t>(32, k.lanes) : 1;
  knobs.require("whole warps shuffle", !shuffle || (k.lanes >= 4 && k.lanes * k.rows % 32 == 0));
  knobs.require("a block fills a warp where there is work for one",
                k.lanes * k.rows >= std::min<int64_t>(target.warp, last * length));
  require_room(knobs, target, {k.lanes * k.rows, kRegisters, 2 * k.lanes * k.rows * bytes});
  return k;
}

}  // namespace

void reduce_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const Definition collapsed = collapse(define(w));
  const TensorNode* r = only_reduction(collapsed);
  const GpuReduceChoices k = choose(r, target, knobs);
  if (!out) return;

  const ReductionSplit split = split_reduction(collapsed, k.chunks, k.lanes, k.lanes > 1 ? k.warp : 1);
  const Definition& d = split.definition;
  const std::vector<const TensorNode*> stages = stages_of(d);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  // Stages without a reduction and without a nest of their own are computed where they are read.
  for (const TensorNode* t : stages) {
    const bool keeps = t->reduce != ReduceKind::kNone || t->name == d.output()->name || t->name == split.chunk ||
                       std::find(split.partials.begin(), split.partials.end(), t->name) != split.partials.end();
    if (!keeps) s.compute_inline(s.block(t->name));
  }
  if (split.chunk.empty()) return GpuReductions(s, stages, k).schedule(r->name, d.output()->name, split.partials);
  GpuReductions(s, stages, k).schedule(split.chunk, split.chunk, split.partials);
  GpuReduceChoices last = k;
  last.rows = powers_below(2 * r->shape.back(), std::min(128, target.max_threads)).back();
  last.unroll_k = 4;
  GpuReductions(s, stages, last).schedule(r->name, d.output()->name, {});
}

}  // namespace hone
