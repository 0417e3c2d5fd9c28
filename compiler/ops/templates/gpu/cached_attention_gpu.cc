// Attention over a cache on GPUs: the generic template's nests, whose threads read no key behind the newest one. (The
// definition reads no value there.) A long cache that is nearly empty costs launches, and little memory.
#include "compiler/ops/definition.h"
#include "compiler/ops/rewrite/replace_stage.h"
#include "compiler/ops/templates/gpu/generic_gpu.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

const TensorNode& stage_named(const Definition& d, std::string_view name) {
  for (const TensorNode* t : stages_of(d))
    if (t->name == name) return *t;
  throw InternalError("cached_attention has no stage '" + std::string(name) + "'");
}

//   dots[b, m, n] = sum(q k)   ->   dots[b, m, n] = sum(n <= newest ? q k : 0)
Definition with_guarded_dots(const Definition& d) {
  const TensorNode &dots = stage_named(d, "dots"), &newest = stage_named(d, "newest");
  std::vector<Ref<const TensorNode>> inputs = dots.inputs;
  inputs.emplace_back(&newest);
  const Expr is_there = le(dots.axes[2], load(newest.buffer, {make_int(0)}));
  const Ref<const TensorNode> guarded =
      remade(dots, select(is_there, dots.body, make_const(0, dots.buffer->dtype)), std::move(inputs));
  StageReplacer replaced;
  replaced.replace(&dots, guarded);
  Definition out = d;
  out.outputs.clear();
  for (const Tensor& t : d.outputs) out.outputs.emplace_back(replaced(t.node()));
  out.anchor = Tensor(replaced(d.anchor.node()));
  return out;
}

}  // namespace

void cached_attention_gpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule) {
  generic_gpu(with_guarded_dots(define(w)), target, knobs, schedule);
}

}  // namespace hone
