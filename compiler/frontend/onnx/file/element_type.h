// ONNX's numbers of elements' types.
#pragma once

#include <string>

#include "compiler/frontend/lowering/encoding.h"

namespace hone::onnx {

/// The type of ONNX's number `data_type`. UserError for strings and complex numbers; `what` begins its message.
frontend::ElementType element_type_of(int data_type, const std::string& what);
/// The same where nothing is stored: UserError for the encodings, too.
DType dtype_of(int data_type, const std::string& what);

}  // namespace hone::onnx
