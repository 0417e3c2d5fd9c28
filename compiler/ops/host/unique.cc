// unique: the different ones of some rows.
#include <algorithm>
#include <cmath>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/host_function.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

std::optional<HostFunction> unique(const Workload& w) {
  const int64_t n = w.attributes.number("rows"), m = w.attributes.number("row");
  const DType t = dtypes_of(w).in;
  const TensorType positions{i64, {n}}, count{i64, {1}};
  return HostFunction{"unique",
                      {n, m, w.attributes.get<bool>("sorted") ? 1 : 0, order_code(t), t.bytes() * 8},
                      {{t, {n, m}}, count},
                      {positions, positions, positions, count},
                      8 * n * m + 24 * n,
                      &hone_internal_unique};
}

AttributeTexts infer_unique(std::span<const TensorType> inputs) {
  const TensorType& x = input_of_rank(inputs, 0, "x", 2);
  return {{"rows", std::to_string(x.shape[0])}, {"row", std::to_string(x.shape[1])}, {"dtype", to_string(x.dtype)}};
}

}  // namespace

Operator unique_operator() {
  Operator op;
  op.name = "unique";
  op.summary =
      "the different ones of some rows: where each occurs first, which one each row is, and how often each occurs; "
      "sorted=0: in the order in which they occur (in models; no tuning)";
  op.attributes = {{"rows", "1000", whole_number()},
                   {"row", "1", whole_number()},
                   {"sorted", "1", flag()},
                   {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) {
    checked_shape("unique: the input", {a.number("rows"), a.number("row")});
    return std::any();
  };
  op.infer = &infer_unique;
  op.flops = [](const Workload& w) {
    const auto n = static_cast<double>(w.attributes.number("rows"));
    return n * static_cast<double>(w.attributes.number("row")) * std::max(1.0, std::log2(n));
  };
  op.host = &unique;
  return op;
}

}  // namespace hone
