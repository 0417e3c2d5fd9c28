#include "compiler/frontend/lowering/encoding.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "compiler/frontend/lowering/lowering.h"

namespace hone::frontend {
namespace {

struct Format {
  const char* name;
  int bits;
  DType dtype;
  // For floats: the function that encodes numbers, the bits of the mantissa, and the exponent's bias.
  const char* function = nullptr;
  int mantissa = 0, bias = 0;
};

constexpr Format kFormats[] = {
    {},
    {"UINT4", 4, u8},
    {"INT4", 4, i8},
    {"UINT2", 2, u8},
    {"INT2", 2, i8},
    {"FLOAT8E4M3FN", 8, u8, "e4m3fn", 3, 7},
    {"FLOAT8E4M3FNUZ", 8, u8, "e4m3fnuz", 3, 8},
    {"FLOAT8E5M2", 8, u8, "e5m2", 2, 15},
    {"FLOAT8E5M2FNUZ", 8, u8, "e5m2fnuz", 2, 16},
    {"FLOAT4E2M1", 4, u8, "e2m1", 1, 1},
    {"FLOAT8E8M0", 8, u8, "e8m0", 0, 127},
};

const Format& format_of(Encoding e) { return kFormats[static_cast<size_t>(e)]; }

bool is_nan(Encoding e, int code) {
  switch (e) {
    case Encoding::kE4M3FN: return (code & 0x7F) == 0x7F;
    case Encoding::kE5M2: return (code & 0x7F) > 0x7C;
    case Encoding::kE4M3FNUZ:
    case Encoding::kE5M2FNUZ: return code == 0x80;
    case Encoding::kE8M0: return code == 0xFF;
    default: return false;
  }
}

float number_of_code(Encoding e, int code) {
  const Format& f = format_of(e);
  if (is_nan(e, code)) return std::numeric_limits<float>::quiet_NaN();
  if (e == Encoding::kE8M0) return std::ldexp(1.0f, code - f.bias);
  if (code >> f.bits) return 0;  // no code
  const int sign = 1 << (f.bits - 1), size = code & (sign - 1);
  if (e == Encoding::kE5M2 && size == 0x7C)
    return code & sign ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  const int exponent = size >> f.mantissa, digits = size & ((1 << f.mantissa) - 1);
  const int whole = exponent ? digits + (1 << f.mantissa) : digits;
  const float v = std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - f.bias - f.mantissa);
  return code & sign ? -v : v;
}

Operand table_of(Lowering& l, Encoding e) {
  std::string bytes;
  for (int code = 0; code < 256; ++code) {
    const float v = number_of_code(e, code);
    bytes.append(reinterpret_cast<const char*>(&v), sizeof(v));
  }
  return l.constant(TensorData({f32, {256}}, std::move(bytes)), name_of(e));
}

}  // namespace

std::string name_of(Encoding e) { return format_of(e).name; }
int bits_of(Encoding e) { return format_of(e).bits; }
bool is_float(Encoding e) { return format_of(e).function; }
DType stored_type(Encoding e) { return format_of(e).dtype; }

Operand decoded(Lowering& l, const Operand& x) {
  Operand codes = x;
  codes.encoding = Encoding::kPlain;
  if (!is_float(x.encoding)) return codes;
  if (x.is_empty()) return {kNoValue, {f32, x.type.shape}};
  return l.add("lookup", {}, {l.value(codes), l.value(table_of(l, x.encoding))}, x.type.shape);
}

Operand encoded(Lowering& l, const Operand& x, Encoding to, const Rounding& how) {
  if (to == Encoding::kPlain) return x;
  const Format& f = format_of(to);
  Operand out;
  if (x.is_empty()) {
    out = {kNoValue, {f.dtype, x.type.shape}};
  } else if (f.function) {
    const std::string numbers = to == Encoding::kE8M0 ? fmt::format("[{};{}]", how.direction, int{how.saturates})
                                : how.saturates       ? ""
                                                      : "[0]";
    out = l.pointwise(f.function + numbers + ":u8", {x.type.dtype == f64 ? x : l.cast(x, f32)});
  } else {
    // Integers modulo 2^bits; the least one is -`below`, which is 0 or half of them.
    const int all = 1 << f.bits, below = f.dtype == i8 ? all / 2 : 0;
    out =
        l.pointwise(fmt::format("add[{}]+mod[{}]+sub[{}]:{}", below, all, below, to_string(f.dtype)), {l.cast(x, i32)});
  }
  out.encoding = to;
  return out;
}

}  // namespace hone::frontend
