#include "compiler/ir/dlpack_type.h"

namespace hone {

DLDataType dlpack_type(DType t) {
  const uint8_t code = t.code == TypeCode::kBFloat ? kDLBfloat
                       : t.is_float()              ? kDLFloat
                       : t.code == TypeCode::kInt  ? kDLInt
                                                   : kDLUInt;
  return {code, static_cast<uint8_t>(t.is_bool() ? 8 : t.bits), 1};
}

}  // namespace hone
