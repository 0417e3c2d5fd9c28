#include "compiler/frontend/onnx/declared_inputs.h"

#include <fmt/format.h>

#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "compiler/frontend/onnx/file/element_type.h"

namespace hone::onnx {

using frontend::DeclaredDimension, frontend::DeclaredInput;

std::vector<const ValueInfo*> inputs_of(const Graph& graph) {
  std::set<std::string_view> initialized;
  for (const Tensor& t : graph.initializer()) initialized.insert(t.name());
  std::vector<const ValueInfo*> inputs;
  for (const ValueInfo& v : graph.input())
    if (!initialized.contains(v.name())) inputs.push_back(&v);
  return inputs;
}

std::vector<DeclaredInput> declared_inputs(const Graph& graph) {
  std::vector<DeclaredInput> inputs;
  for (const ValueInfo* v : inputs_of(graph)) {
    HONE_USER_CHECK(!v->type().has_sequence_type() && !v->type().has_optional_type())
        << "input '" << v->name() << "' is " << (v->type().has_sequence_type() ? "a sequence" : "an optional")
        << "; inputs of a model are tensors";
    HONE_USER_CHECK(v->type().has_tensor_type()) << "input '" << v->name() << "' is not a tensor";
    const TensorTypeInfo& info = v->type().tensor_type();
    DeclaredInput& input = inputs.emplace_back();
    input.name = v->name();
    input.element = element_type_of(info.elem_type(), fmt::format("input '{}': ", v->name()));
    if (!info.has_shape()) continue;
    input.shape.emplace();
    for (const Dimension& dim : info.shape().dim()) {
      // Some exporters write -1 for a dimension that is open.
      const bool is_fixed = dim.has_dim_value() && dim.dim_value() >= 0;
      input.shape->push_back({is_fixed ? std::optional(dim.dim_value()) : std::nullopt, dim.dim_param()});
    }
  }
  return inputs;
}

}  // namespace hone::onnx
