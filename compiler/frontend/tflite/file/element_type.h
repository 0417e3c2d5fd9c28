// Types of elements as TensorFlow Lite numbers them.
#pragma once

#include <string>

#include "compiler/ir/dtype.h"

namespace hone::tflite {

/// UserError that begins with `what`, for a type that is not supported.
DType dtype_of(int type, const std::string& what);

/// Whether the type is that of a variable's name.
bool is_resource(int type);
/// Whether elements are pairs of f32.
bool is_complex(int type);

}  // namespace hone::tflite
