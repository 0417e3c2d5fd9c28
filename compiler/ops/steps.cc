#include "compiler/ops/steps.h"

#include "compiler/ops/operator.h"

namespace hone {

std::optional<Steps> steps_of(const Workload& w) { return w.op->steps ? w.op->steps(w) : std::nullopt; }

Inferred types_of(const Workload& w, const Steps& s) {
  Inferred out = inferred(s.step);
  out.workload = w;
  size_t p = 0;
  for (auto* tensors : {&out.inputs, &out.outputs})
    for (TensorType& t : *tensors)
      if (s.how.params[p++].kind == RepeatedParam::Kind::kPart) t.shape[0] *= s.how.count;
  return out;
}

}  // namespace hone
