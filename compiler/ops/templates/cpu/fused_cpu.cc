#include <algorithm>
#include <map>
#include <set>

#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/fused.h"
#include "compiler/ops/templates/reduction_nest.h"
#include "compiler/ops/templates/template.h"
#include "compiler/ops/templates/unroll_limits.h"

namespace hone {
namespace {

FusedChoices choose(const Definition& d, const TensorNode* r, const Target& target, Knobs& knobs,
                    const FusedOptions& options) {
  const std::vector<int64_t>& shape = d.output()->shape;
  const int64_t lanes = target.vector_bits / (8 * d.output()->buffer->dtype.bytes()),
                last = r ? r->shape.back() : shape.back();
  FusedChoices k;
  if (r) {
    const bool along = reduces_neighbours(r);
    const int64_t outputs = product_of(r->shape, r->shape.size()), terms = r->reduce_axes.back().extent;
    const std::vector<int64_t> chunks = reduction_chunk_counts(r, target.threads);
    k.chunks =
        knobs.thread_choice("chunks", chunks, outputs < int64_t{4} * target.threads ? int64_t{2} * target.threads : 1);
    std::vector<int64_t> widths{1};
    for (int64_t n = std::max<int64_t>(2, lanes / 2); along && n <= 64 && n < 2 * terms; n *= 2) widths.push_back(n);
    k.lanes = knobs.choice("lanes", widths, 4 * lanes);
    knobs.when(k.lanes > 1);
    k.rows = knobs.choice("rows", options.row_choices, options.usual_rows);
    knobs.when(k.lanes == 1);
  }
  k.block = knobs.choice("block", vector_blocks(last, lanes, last), 4 * lanes);
  // Columns of sums fill half of the registers: the longer the pieces of a row, the fewer rows it jumps to.
  int64_t usual = 1;
  const bool sums_columns = r && k.lanes == 1;
  while (sums_columns && usual < 4 && 2 * usual * k.block <= last &&
         4 * usual * registers_of(k.block, lanes) <= target.vector_registers)
    usual *= 2;
  k.unroll = knobs.choice("unroll", {1, 2, 4, 8}, usual);
  if (r) {
    knobs.when(true);
    k.unroll_k = knobs.choice("unroll_k", {1, 2, 4, 8}, sums_columns ? 8 : 2);
  }
  int64_t elements = product_of(shape, shape.size());
  if (r)
    for (const Axis& a : r->reduce_axes) elements *= a.extent;
  constexpr int64_t kWorthAThread = 16384;
  k.parallel =
      knobs.thread_choice("parallel", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          elements >= kWorthAThread ? 1 : 0) != 0;
  k.vector_bits = choose_vector_bits(knobs, target);

  const int64_t register_lanes = lanes * k.vector_bits / target.vector_bits;
  const int64_t accumulators =
      k.lanes > 1 ? k.rows * registers_of(k.lanes, register_lanes) : k.unroll * registers_of(k.block, register_lanes);
  knobs.require("accumulators leave registers for data", !r || accumulators + 2 <= target.vector_registers);
  knobs.require("the unrolled body is small", accumulators * k.unroll_k <= kMostUnrolledReduction);
  knobs.require("rows of a tile divide the rows", last % k.rows == 0);
  knobs.require("chunks are for threads", k.chunks == 1 || k.parallel);
  knobs.require("tiles waste little", k.unroll == 1 || k.block * k.unroll <= last);
  return k;
}

// The last stage that can be computed in one loop with the reduction: from stage to stage, the only reader, which must
// read element by element.
const TensorNode* end_of_group(const std::vector<const TensorNode*>& stages, const TensorNode* r) {
  const TensorNode* end = r;
  for (;;) {
    const TensorNode* reader = nullptr;
    int readers = 0;
    for (const TensorNode* t : stages)
      if (std::any_of(t->inputs.begin(), t->inputs.end(),
                      [&](const auto& in) { return in->buffer.same_as(end->buffer); }))
        reader = t, ++readers;
    if (readers != 1 || reader->reduce != ReduceKind::kNone || reader->shape != end->shape) return end;
    for (const Load* l : loads_of(reader->body, end->buffer))
      for (size_t i = 0; i < l->indices.size(); ++i)
        if (l->indices[i].get() != reader->axes[i].var.get()) return end;
    end = reader;
  }
}

// Inlines each stage into its readers unless the statement would become too long. Returns the names of the stages that
// keep a nest of their own.
std::vector<std::string> inline_stages(Schedule& s, const std::vector<const TensorNode*>& stages,
                                       const std::set<std::string>& keep) {
  std::map<const BufferNode*, int64_t> inlined;
  std::vector<std::string> own_nests;
  for (const TensorNode* t : stages) {
    if (keep.count(t->name) || t->reduce != ReduceKind::kNone) continue;
    const int64_t size = instructions_of(t->body, inlined);
    if (size > kMostInstructions) {
      own_nests.push_back(t->name);
      continue;
    }
    inlined[t->buffer.get()] = size;
    s.compute_inline(s.block(t->name));
  }
  return own_nests;
}

}  // namespace

void fused_cpu(const Definition& original, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out,
               const FusedOptions& options) {
  const Definition collapsed = collapse(original);
  const TensorNode* r = only_reduction(collapsed);
  const FusedChoices k = choose(collapsed, r, target, knobs, options);
  if (!out) return;

  ReductionSplit split{collapsed, "", {}};
  if (r) split = split_reduction(collapsed, k.chunks, k.lanes);
  const Definition& d = split.definition;
  const std::vector<const TensorNode*> stages = stages_of(d);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;

  std::set<std::string> keep{d.output()->name};
  std::string group_end;
  if (r) {
    const TensorNode* combined =
        *std::find_if(stages.begin(), stages.end(), [&](const TensorNode* t) { return t->name == r->name; });
    group_end = end_of_group(stages, combined)->name;
    keep.insert(group_end);
    keep.insert(split.partials.begin(), split.partials.end());
    if (!split.chunk.empty()) keep.insert(split.chunk);
  }
  keep.insert(options.kept.begin(), options.kept.end());
  std::vector<std::string> nests = inline_stages(s, stages, keep);
  for (const TensorNode* t : stages)
    if (options.kept.count(t->name)) nests.push_back(t->name);
  if (d.output()->name != group_end) nests.push_back(d.output()->name);
  FusedChoices plain = k;
  plain.block = std::min<int64_t>({64, int64_t{4} * target.vector_bits / (8 * d.output()->buffer->dtype.bytes()),
                                   (r ? r : d.output().node().get())->shape.back()});
  plain.unroll = plain.unroll_k = plain.lanes = 1;
  for (const std::string& name : nests) schedule_vectors(s, s.block(name), r ? plain : k);
  if (r && split.chunk.empty()) schedule_reduction(s, stages, split, r->name, group_end, k);
  if (r && !split.chunk.empty()) {
    schedule_reduction(s, stages, split, split.chunk, split.chunk, k);
    plain.parallel = k.parallel && product_of(r->shape, r->shape.size()) * k.chunks >= 16384;
    schedule_reduction(s, stages, split, r->name, group_end, plain);
  }
  s.annotate("vector_bits", k.vector_bits);
}

void fused_workload_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule) {
  fused_cpu(define(w), target, knobs, schedule);
}

}  // namespace hone
