// Single tensors in files: ONNX's .pb and numpy's .npy.
#pragma once

#include <limits>
#include <string>

#include "compiler/graph/tensor_data.h"

namespace hone {

/// UserError, one line that begins with the path, for a file that cannot be read, is not a plain file or holds no
/// supported tensor. `wanted_bytes`: of the elements that the caller expects; files of far more are refused before they
/// are read.
TensorData read_tensor_file(const std::string& path, int64_t wanted_bytes = std::numeric_limits<int64_t>::max());

}  // namespace hone
