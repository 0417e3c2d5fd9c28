// nonzero: where a row of bools is true.
#include "compiler/ops/host_function.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

std::optional<HostFunction> nonzero(const Workload& w) {
  const int64_t n = w.attributes.number("n");
  return HostFunction{"nonzero", {n}, {{boolean, {n}}}, {{i64, {n}}, {i64, {1}}}, 0, &hone_internal_nonzero};
}

AttributeTexts infer_nonzero(std::span<const TensorType> inputs) {
  return {{"n", std::to_string(input_of_rank(inputs, 0, "x", 1).shape[0])}};
}

}  // namespace

Operator nonzero_operator() {
  Operator op;
  op.name = "nonzero";
  op.summary = "where n bools are true, ascending and then zeros, and how many they are (in models; no tuning)";
  op.attributes = {{"n", "1000", whole_number()}};
  op.shape = [](const Attributes&) { return std::any(); };
  op.infer = &infer_nonzero;
  op.flops = [](const Workload& w) { return static_cast<double>(w.attributes.number("n")); };
  op.host = &nonzero;
  return op;
}

}  // namespace hone
