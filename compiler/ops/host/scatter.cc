// scatter: elements at positions that a call says, and zeros.
#include "compiler/ops/dtypes.h"
#include "compiler/ops/host_function.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

std::optional<HostFunction> scatter(const Workload& w) {
  const int64_t n = w.attributes.number("n"), to = w.attributes.number("to");
  const DType t = dtypes_of(w).in;
  return HostFunction{"scatter", {n, to, t.bytes()}, {{t, {n}}, {i64, {n}}}, {{t, {to}}}, 0, &hone_internal_scatter};
}

AttributeTexts infer_scatter(std::span<const TensorType> inputs) {
  const TensorType& x = input_of_rank(inputs, 0, "x", 1);
  return {{"n", std::to_string(x.shape[0])}, {"dtype", to_string(x.dtype)}};
}

}  // namespace

Operator scatter_operator() {
  Operator op;
  op.name = "scatter";
  op.summary = "n elements at these places of a row of zeros: to=4000; of equal places the last (in models; no tuning)";
  op.attributes = {{"n", "1000", whole_number()}, {"to", "4000", whole_number()}, {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes&) { return std::any(); };
  op.infer = &infer_scatter;
  op.flops = [](const Workload& w) {
    return static_cast<double>(w.attributes.number("n") + w.attributes.number("to"));
  };
  op.host = &scatter;
  return op;
}

}  // namespace hone
