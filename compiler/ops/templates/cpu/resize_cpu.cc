// Resizing between the input's elements: an axis after the other, the contiguous one first, while there are few
// elements. Its result may be kept, because several elements of the output read each element of it.
#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/fused.h"
#include "compiler/ops/templates/reduction_nest.h"
#include "compiler/ops/templates/template.h"

namespace hone {

void resize_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const Definition d = collapse(define(w));
  const std::vector<const TensorNode*> stages = stages_of(d);
  if (stages.size() == 1) return fused_cpu(d, target, knobs, out);
  const std::vector<int64_t>& shape = d.output()->shape;
  const int64_t lanes = target.vector_bits / (8 * d.output()->buffer->dtype.bytes());
  FusedChoices k;
  const bool keep = knobs.choice("keep", {0, 1}, 1) != 0;
  k.block = knobs.choice("block", vector_blocks(shape.back(), lanes, shape.back()), 4 * lanes);
  k.unroll = knobs.choice("unroll", {1, 2, 4}, 1);
  constexpr int64_t kWorthAThread = 16384;
  k.parallel =
      knobs.thread_choice("parallel", target.threads > 1 ? std::vector<int64_t>{0, 1} : std::vector<int64_t>{0},
                          product_of(shape, shape.size()) >= kWorthAThread ? 1 : 0) != 0;
  knobs.require("tiles waste little", k.unroll == 1 || k.block * k.unroll <= shape.back());
  if (!out) return;

  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  for (const TensorNode* t : stages) {
    const BlockRef block = s.block(t->name);
    if (!keep && t != d.output().node().get()) {
      s.compute_inline(block);
      continue;
    }
    FusedChoices own = k;
    while (own.block > 1 && own.block >= 2 * t->shape.back()) own.block /= 2;
    if (own.block * own.unroll > t->shape.back()) own.unroll = 1;
    own.parallel = k.parallel && product_of(t->shape, t->shape.size()) >= kWorthAThread;
    schedule_vectors(s, block, own);
  }
}

}  // namespace hone
