#include "compiler/ops/definition.h"

#include "compiler/ops/operator.h"

namespace hone {

Definition define(const Workload& w) { return w.op->define(w); }

double tensor_bytes(const Workload& w) {
  const Definition d = define(w);
  const auto bytes = [](const Tensor& t) {
    return static_cast<double>(element_count(t->shape) * t->buffer->dtype.bytes());
  };
  double sum = bytes(d.output);
  for (const auto& [tensor, role] : d.inputs) sum += bytes(tensor);
  return sum;
}

}  // namespace hone
