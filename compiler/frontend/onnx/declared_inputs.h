// The inputs that an ONNX graph declares.
#pragma once

#include <vector>

#include "compiler/frontend/lowering/input_binding.h"
#include "compiler/frontend/onnx/file/model_file.h"

namespace hone::onnx {

/// The inputs that a caller gives: those with an initializer are left out and always have that default.
std::vector<const ValueInfo*> inputs_of(const Graph& graph);

/// The same as bind_inputs() takes them. UserError for an input that is no tensor, or one of a type that is not
/// supported.
std::vector<frontend::DeclaredInput> declared_inputs(const Graph& graph);

}  // namespace hone::onnx
