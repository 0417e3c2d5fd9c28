#include "compiler/ops/definition.h"

#include <algorithm>
#include <functional>

#include "compiler/ops/extremes.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/recurrence.h"

namespace hone {

const Tensor& Definition::output() const {
  HONE_ICHECK(outputs.size() == 1) << "a definition with " << outputs.size() << " outputs";
  return outputs[0];
}

Definition define(const Workload& w) {
  HONE_USER_CHECK(w.op->define) << w.operator_name() << " is a function in C: there is no program of it";
  HONE_USER_CHECK(!recurrence_of(w))
      << to_string(w) << " has several steps, which only models have; build or tune one step: leave out steps=";
  Definition d = w.op->define(w);
  if (tells_extremes(w)) add_extremes(&d);
  return d;
}

std::vector<const TensorNode*> stages_of(const Definition& d) {
  std::vector<const TensorNode*> order;
  const std::function<void(const TensorNode*)> visit = [&](const TensorNode* t) {
    if (t->is_placeholder() ||
        std::any_of(order.begin(), order.end(), [&](const TensorNode* o) { return o->buffer.same_as(t->buffer); }))
      return;
    for (const auto& in : t->inputs) visit(in.get());
    order.push_back(t);
  };
  for (const Tensor& t : d.outputs) visit(t.node().get());
  return order;
}

double tensor_bytes(const Workload& w) {
  const Inferred types = inferred(w);
  double sum = 0;
  for (const auto* tensors : {&types.inputs, &types.outputs})
    for (const TensorType& t : *tensors) sum += static_cast<double>(element_count(t.shape) * t.dtype.bytes());
  return sum;
}

}  // namespace hone
