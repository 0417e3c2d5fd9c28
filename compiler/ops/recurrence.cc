#include "compiler/ops/recurrence.h"

#include "compiler/ops/operator.h"

namespace hone {

std::optional<Recurrence> recurrence_of(const Workload& w) {
  return w.op->recurrence ? w.op->recurrence(w) : std::nullopt;
}

Inferred types_of(const Workload& w, const Recurrence& s) {
  Inferred out = inferred(s.step);
  out.workload = w;
  size_t p = 0;
  for (auto* tensors : {&out.inputs, &out.outputs})
    for (TensorType& t : *tensors)
      if (s.how.params[p++].kind == RepeatedParam::Kind::kPart) t.shape[0] *= s.how.count;
  return out;
}

}  // namespace hone
