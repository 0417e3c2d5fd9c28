// DLPack's name of a type.
#pragma once

#include <dlpack/dlpack.h>

#include "compiler/ir/dtype.h"

namespace hone {

/// The type that an artifact's entry expects in DLTensor::dtype; a bool is an unsigned 8-bit integer.
DLDataType dlpack_type(DType t);

}  // namespace hone
