// require: a tensor, where a condition holds; the call fails where it does not.
#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/host_function.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

std::optional<HostFunction> require(const Workload& w) {
  const TensorType x{dtypes_of(w).in, w.attributes.get<std::vector<int64_t>>("shape")};
  return HostFunction{
      "require", {element_count(x.shape) * x.dtype.bytes()}, {x, {boolean, {1}}}, {x}, 0, &hone_internal_require};
}

AttributeTexts infer_require(std::span<const TensorType> inputs) {
  const TensorType& x = input_at(inputs, 0, "x");
  return {{"shape", text_of_extents(x.shape)}, {"dtype", to_string(x.dtype)}};
}

}  // namespace

Operator require_operator() {
  Operator op;
  op.name = "require";
  op.summary = "x where a bool is true; else the call has no result (in models; no tuning)";
  op.attributes = {{"shape", "1000", extents()}, {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes&) { return std::any(); };
  op.infer = &infer_require;
  op.flops = [](const Workload& w) {
    return static_cast<double>(element_count(w.attributes.get<std::vector<int64_t>>("shape")));
  };
  op.host = &require;
  return op;
}

}  // namespace hone
