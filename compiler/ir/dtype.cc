#include "compiler/ir/dtype.h"

#include <fmt/format.h>

#include "base/check.h"

namespace hone {

std::string to_string(DType t) {
  std::string out;
  switch (t.code) {
    case TypeCode::kInt: out = fmt::format("s{}", t.bits); break;
    case TypeCode::kUInt: out = fmt::format("u{}", t.bits); break;
    case TypeCode::kFloat: out = fmt::format("f{}", t.bits); break;
    case TypeCode::kBool: out = "bool"; break;
    case TypeCode::kBFloat: out = fmt::format("bf{}", t.bits); break;
  }
  return t.lanes == 1 ? out : fmt::format("{}x{}", out, t.lanes);
}

DType parse_dtype(std::string_view text) {
  for (DType t : {f32, f16, bf16, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean})
    if (text == to_string(t)) return t;
  throw UserError(fmt::format("dtype '{}' is unknown; allowed: f16 bf16 f32 f64 s8 s16 s32 s64 u8 u16 u32 u64", text));
}

}  // namespace hone
