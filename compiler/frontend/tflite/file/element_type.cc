#include "compiler/frontend/tflite/file/element_type.h"

#include <fmt/format.h>

#include "base/check.h"

namespace hone::tflite {

DType dtype_of(int type, const std::string& what) {
  switch (type) {
    case 0: return f32;
    case 1: return f16;
    case 2: return i32;
    case 3: return u8;
    case 4: return i64;
    case 6: return boolean;
    case 7: return i16;
    case 9: return i8;
    case 10: return f64;
    case 12: return u64;
    case 15: return u32;
    case 16: return u16;
    case 18: return bf16;
    default: break;
  }
  const std::string name = type == 5    ? "strings"
                           : type == 11 ? "complex numbers of f64"
                           : type == 14 ? "variants"
                           : type == 17 ? "INT4"
                                        : fmt::format("TensorFlow Lite's type {}", type);
  throw UserError(fmt::format("{}its elements are {}, which is not supported", what, name));
}

bool is_resource(int type) {
  constexpr int kResource = 13;
  return type == kResource;
}

bool is_complex(int type) {
  constexpr int kComplex64 = 8;
  return type == kComplex64;
}

}  // namespace hone::tflite
