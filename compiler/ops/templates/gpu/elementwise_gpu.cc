// Operators without a reduction on GPUs: all axes in one line, cut into blocks of threads that each do a few vectors.
#include "compiler/ops/definition.h"
#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/rewrite/split_reduction.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/template.h"

namespace hone {

void elementwise_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const int64_t threads = knobs.choice("threads", {32, 64, 128, 256, 512, 1024}, 256);
  const int64_t rounds = knobs.choice("rounds", {1, 2, 4, 8}, 1);  // vectors that a thread does, `threads` apart
  const int64_t vector = knobs.choice("vector", {1, 2, 4}, 4);
  knobs.require("a block has at most as many threads as the device allows", threads <= target.max_threads);
  if (!out) return;

  const Definition d = collapse(define(w));
  *out = std::make_unique<Schedule>(d.inputs, d.outputs);
  Schedule& s = **out;
  for (const TensorNode* stage : stages_of(d))
    if (stage->name != d.output()->name) s.compute_inline(s.block(stage->name));
  const auto parts =
      s.split(fuse_all(s, s.loops(s.block(d.output()->name))), std::vector<int64_t>{0, rounds, threads, vector});
  s.reorder({parts[0], parts[2], parts[1], parts[3]});
  s.bind(parts[0], LoopKind::kBlock);
  s.bind(parts[2], LoopKind::kThread);
  s.vectorize(parts[3]);
}

}  // namespace hone
