#include "compiler/ops/definition.h"

#include <algorithm>
#include <functional>

#include "compiler/ops/operator.h"

namespace hone {

const Tensor& Definition::output() const {
  HONE_ICHECK(outputs.size() == 1) << "a definition with " << outputs.size() << " outputs";
  return outputs[0];
}

Definition define(const Workload& w) { return w.op->define(w); }

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
  const Definition d = define(w);
  const auto bytes = [](const Tensor& t) {
    return static_cast<double>(element_count(t->shape) * t->buffer->dtype.bytes());
  };
  double sum = 0;
  for (const Tensor& t : d.outputs) sum += bytes(t);
  for (const auto& [tensor, role] : d.inputs) sum += bytes(tensor);
  return sum;
}

}  // namespace hone
