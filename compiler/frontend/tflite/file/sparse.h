// Sparse tensors: the file has their elements that are not 0.
#pragma once

#include <span>
#include <string>

#include "compiler/frontend/tflite/tflite_generated.h"
#include "compiler/graph/tensor_data.h"

namespace hone::tflite {

/// All elements of a tensor of this type. UserError that begins with `what` for dimensions and positions that do not
/// fit it, and for more or fewer elements than these positions.
TensorData densified(const file::Sparsity& sparsity, const TensorType& type, std::span<const char> stored,
                     const std::string& what);

}  // namespace hone::tflite
