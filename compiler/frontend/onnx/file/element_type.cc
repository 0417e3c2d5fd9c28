#include "compiler/frontend/onnx/file/element_type.h"

#include "base/check.h"

namespace hone::onnx {

using frontend::ElementType, frontend::Encoding;

namespace {

// kPlain for a type that is no encoding.
Encoding encoding_of(int data_type) {
  switch (data_type) {
    case 17: return Encoding::kE4M3FN;
    case 18: return Encoding::kE4M3FNUZ;
    case 19: return Encoding::kE5M2;
    case 20: return Encoding::kE5M2FNUZ;
    case 21: return Encoding::kUint4;
    case 22: return Encoding::kInt4;
    case 23: return Encoding::kE2M1;
    case 24: return Encoding::kE8M0;
    case 25: return Encoding::kUint2;
    case 26: return Encoding::kInt2;
    default: return Encoding::kPlain;
  }
}

}  // namespace

ElementType element_type_of(int data_type, const std::string& what) {
  if (const Encoding e = encoding_of(data_type); e != Encoding::kPlain) return {stored_type(e), e};
  return {dtype_of(data_type, what)};
}

DType dtype_of(int data_type, const std::string& what) {
  switch (data_type) {
    case 1: return f32;
    case 2: return u8;
    case 3: return i8;
    case 4: return u16;
    case 5: return i16;
    case 6: return i32;
    case 7: return i64;
    case 9: return boolean;
    case 10: return f16;
    case 11: return f64;
    case 12: return u32;
    case 13: return u64;
    case 16: return bf16;
    default: break;
  }
  std::string name = data_type == 0                       ? "undefined"
                     : data_type == 8                     ? "string"
                     : data_type == 14 || data_type == 15 ? "a complex number"
                                                          : fmt::format("ONNX's type {}", data_type);
  if (const Encoding e = encoding_of(data_type); e != Encoding::kPlain) name = name_of(e);
  throw UserError(fmt::format("{}its elements are {}, which is not supported", what, name));
}

}  // namespace hone::onnx
