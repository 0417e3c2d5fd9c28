#include "compiler/ops/host_function.h"

#include "compiler/ops/operator.h"
#include "compiler/runtime/host_functions/order.h"

namespace hone {

std::optional<HostFunction> host_function_of(const Workload& w) { return w.op->host ? w.op->host(w) : std::nullopt; }

int64_t bytes_of_all(const std::vector<TensorType>& types) {
  int64_t sum = 0;
  for (const TensorType& t : types) sum += element_count(t.shape) * t.dtype.bytes();
  return sum;
}

int64_t order_code(DType t) {
  if (t.is_float()) return HONE_ORDER_FLOAT;
  return t.code == TypeCode::kInt ? HONE_ORDER_INT : HONE_ORDER_UINT;
}

}  // namespace hone
