// Single tensors in files: ONNX's .pb and numpy's .npy.
#pragma once

#include <string>

#include "compiler/graph/tensor_data.h"

namespace hone {

/// UserError, one line that begins with the path, for a file that cannot be read or holds no supported tensor.
TensorData read_tensor_file(const std::string& path);

}  // namespace hone
