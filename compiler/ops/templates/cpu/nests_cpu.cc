#include <algorithm>
#include <map>
#include <set>

#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/generic.h"
#include "compiler/ops/templates/kept_stages.h"
#include "compiler/ops/templates/reduction_nest.h"

namespace hone {
namespace {

struct NestChoices {
  bool cut = true;    // reductions of few results in chunks
  int64_t lanes = 1;  // of reductions along the contiguous axis
  int64_t block = 1;  // lanes of the vectors of everything else
  int64_t unroll_k = 1;
  bool parallel = true;
  int64_t vector_bits = 0;
};

constexpr double kWorthThreads = 16384;  // operations

double elements_of(const TensorNode* t) { return static_cast<double>(product_of(t->shape, t->shape.size())); }
double terms_of(const TensorNode* t) {
  double n = 1;
  for (const Axis& a : t->reduce_axes) n *= static_cast<double>(a.extent);
  return n;
}

// Half a vector to four vectors of the definition's widest type.
std::vector<int64_t> widths_of(const std::vector<const TensorNode*>& stages, const Target& target) {
  int64_t bytes = 1;
  for (const TensorNode* t : stages) bytes = std::max<int64_t>(bytes, t->buffer->dtype.bytes());
  const int64_t lanes = target.vector_bits / (8 * bytes);
  std::set<int64_t> widths{1};
  for (int64_t n = std::max<int64_t>(2, lanes / 2); n <= std::min<int64_t>(64, 4 * lanes); n *= 2) widths.insert(n);
  return {widths.begin(), widths.end()};
}

NestChoices choose_nests(const std::vector<const TensorNode*>& stages, const Target& target, Knobs& knobs) {
  const std::vector<int64_t> widths = widths_of(stages, target);
  NestChoices k;
  k.cut = knobs.choice("cut", {0, 1}, 1) != 0;
  k.lanes = knobs.choice("lanes", widths, widths.back());
  k.block = knobs.choice("block", widths, widths.back());
  k.unroll_k = knobs.choice("unroll_k", {1, 2, 4}, 1);
  k.parallel = knobs.thread_choice("parallel",
                                   target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0}, 1) != 0;
  k.vector_bits = choose_vector_bits(knobs, target);
  return k;
}

// The largest power of two up to `width` that wastes less than half of `extent`.
int64_t width_for(int64_t extent, int64_t width) {
  while (width > 1 && width >= 2 * extent) width /= 2;
  return width;
}

FusedChoices choices_of(const TensorNode* t, const NestChoices& k) {
  FusedChoices out;
  out.block = width_for(t->shape.back(), k.block);
  out.parallel = k.parallel && elements_of(t) * terms_of(t) >= kWorthThreads;
  return out;
}

// As many chunks as keep all threads busy where there are few results.
int64_t chunks_for(const TensorNode* r, const Target& target) {
  if (elements_of(r) >= 4.0 * target.threads) return 1;
  int64_t most = 1;
  for (const int64_t n : reduction_chunk_counts(r, target.threads))
    if (n <= int64_t{2} * target.threads) most = std::max(most, n);
  return most;
}

}  // namespace

void nests_cpu(const Definition& original, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  Definition d = collapse(original);
  const std::vector<const TensorNode*> logical = stages_of(d);
  const NestChoices k = choose_nests(logical, target, knobs);
  if (!out) return;

  std::set<std::string> kept = kept_stages(d, Keep::kExpensive), nests = kept;
  for (const Tensor& t : d.outputs) nests.insert(t->name);
  std::map<std::string, FusedChoices> choices;
  std::map<std::string, ReductionSplit> splits;
  const Definition whole = d;  // its stages outlive the rewriting
  for (const TensorNode* t : logical) {
    FusedChoices& c = choices[t->name] = choices_of(t, k);
    if (t->reduce == ReduceKind::kNone) continue;
    c.unroll_k = k.unroll_k;
    if (reduces_neighbours(t)) c.lanes = width_for(t->reduce_axes.back().extent, k.lanes);
    if (k.cut && c.parallel) c.chunks = chunks_for(t, target);
    ReductionSplit& split = splits[t->name] = split_reduction(d, t->name, c.chunks, c.lanes);
    d = split.definition;
    kept.insert(split.partials.begin(), split.partials.end());
    if (!split.chunk.empty()) kept.insert(split.chunk);
    kept.insert(t->name);
  }
  const std::vector<const TensorNode*> stages = stages_of(d);
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  inline_others(s, d, kept);
  for (const TensorNode* t : logical) {
    FusedChoices c = choices[t->name];
    const auto split = splits.find(t->name);
    if (split == splits.end()) {
      if (nests.count(t->name)) schedule_vectors(s, s.block(t->name), c);
      continue;
    }
    if (!split->second.chunk.empty()) {
      schedule_reduction(s, stages, split->second, split->second.chunk, split->second.chunk, c);
      c.lanes = 1;
      c.parallel = false;
    }
    schedule_reduction(s, stages, split->second, t->name, t->name, c);
  }
  s.annotate("vector_bits", k.vector_bits);
}

}  // namespace hone
