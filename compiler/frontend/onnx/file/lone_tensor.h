// A tensor by itself, as files of ONNX's test data hold it.
#pragma once

#include <string>

#include "compiler/graph/tensor_data.h"

namespace hone {

/// The tensor of a serialized TensorProto. UserError, one line, for other bytes, for a tensor whose elements lie in
/// another file, and as onnx::tensor_of().
TensorData parse_onnx_tensor(const std::string& message);

}  // namespace hone
