// Floats of 8 and 4 bits, which models store and nothing computes with: the codes of numbers, as floats. The formats
// are ONNX's (docs/technical/float8.md, float4.md of its repository), which name the papers that define them.
#include <algorithm>
#include <cmath>

#include "compiler/ops/functions/function_rows.h"

namespace hone {
namespace {

using E = const Expr&;

// Codes without their signs count up with the numbers: subnormal ones first, then each exponent's.
struct Minifloat {
  int mantissa;         // bits
  int least;            // the exponent of the least normal number
  int greatest;         // the exponent of the greatest number
  int most;             // the code of the greatest number
  int beyond;           // the code of larger numbers when they do not saturate
  int nan;              // NaN's
  int sign;             // added to the code of a negative number
  bool has_minus_zero;  // else -0 is 0, and the code `beyond` has no sign
};
constexpr Minifloat kE4M3FN{3, -6, 8, 0x7E, 0x7F, 0x7F, 0x80, true};
constexpr Minifloat kE4M3FNUZ{3, -7, 7, 0x7F, 0x80, 0x80, 0x80, false};
constexpr Minifloat kE5M2{2, -14, 15, 0x7B, 0x7C, 0x7E, 0x80, true};
constexpr Minifloat kE5M2FNUZ{2, -15, 15, 0x7F, 0x80, 0x80, 0x80, false};
constexpr Minifloat kE2M1{1, 0, 2, 0x7, 0x7, 0x8, 0x8, true};

// Floats of 16 bits hold neither the powers nor the sums below.
Expr wide(E x) { return x->dtype.is_narrow_float() ? cast(f32, x) : x; }

// x over the greatest power of 2^step, up to its `count`th, that is not above it, which is exact; its exponent is
// added. The expression of x stands there 2 count + 1 times.
void take_powers(int count, int step, Expr* x, Expr* exponent) {
  const Expr given = *x;
  for (int k = 1; k <= count; ++k) {
    const Expr is_above = ge(given, constant(std::ldexp(1, k * step), given));
    *exponent = *exponent + select(is_above, constant(step, given), constant(0, given));
    *x = *x * select(is_above, constant(std::ldexp(1, -step), given), constant(1, given));
  }
}

// `saturates`: not 0 when numbers beyond the greatest become the greatest.
Expr code_of(const Minifloat& f, E given, E saturates) {
  const Expr x = wide(given);
  const auto c = [&](double v) { return constant(v, x); };
  // In units of the least normal number; numbers beyond the greatest one become twice its power of two.
  Expr size = min(absolute(x), c(std::ldexp(1, f.greatest + 1))) * c(std::ldexp(1, -f.least)), exponent = c(0);
  const int range = f.greatest + 1 - f.least;
  constexpr int kCoarse = 8;
  take_powers(range / kCoarse, kCoarse, &size, &exponent);
  take_powers(std::min(range, kCoarse - 1), 1, &size, &exponent);
  const double ones = std::ldexp(1, f.mantissa);
  const Expr code = exponent * c(ones) + nearest(size * c(ones));
  const Expr is_beyond = lt(c(f.most), code);
  // 1/-0 is less than 0, and -0 is not.
  Expr is_negative = logical_or(lt(x, c(0)), lt(c(1) / x, c(0)));
  if (!f.has_minus_zero) is_negative = logical_and(is_negative, lt(c(0), code));
  const Expr sign = select(is_negative, c(f.sign), c(0));
  const Expr opened = f.has_minus_zero ? c(f.beyond) + sign : c(f.beyond);
  const Expr is_open = logical_and(is_beyond, eq(cast(x->dtype, saturates), c(0)));
  const Expr of_number = select(is_open, opened, min(code, c(f.most)) + sign);
  return cast(given->dtype, select(ne(x, x), c(f.nan), of_number));
}

// Powers of two alone: the exponent plus 127. 0 is the least one, NaN and negative numbers 255. Numbers between two
// powers become the upper one (`direction` 1), the lower one (-1) or the nearest (0), of two equally near the upper
// one.
Expr power_code(E given, E direction, E saturates) {
  constexpr int kBias = 127, kMost = 254, kNan = 255, kCoarse = 16;
  const Expr x = cast(f64, given);
  const auto c = [&](double v) { return constant(v, x); };
  const auto is = [&](E number, double v) { return eq(cast(f64, number), c(v)); };
  // The exponent of the product is the wanted one: rounding down takes x's own, rounding up that of just below 2 x, and
  // rounding to the nearest goes up from 1.5 on, for numbers of f32's 24 bits.
  const Expr factor = select(is(direction, 1), c(2 - 0x1p-40), select(is(direction, 0), c(4.0 / 3 + 0x1p-30), c(1)));
  Expr size = absolute(x) * c(std::ldexp(1, kBias)) * factor, code = c(0);
  take_powers(kMost / kCoarse, kCoarse, &size, &code);
  take_powers(kCoarse - 1, 1, &size, &code);
  const Expr beyond = select(is(saturates, 0), c(kNan), c(kMost));
  code = select(lt(c(std::ldexp(1, kMost - kBias)), x), beyond, code);
  return cast(given->dtype, select(logical_or(ne(x, x), lt(x, c(0))), c(kNan), code));
}

}  // namespace

void add_minifloats(FunctionTable* t) {
  t->add(of_numbers("e4m3fn", 40, {1}, [](Args a) { return code_of(kE4M3FN, a[0], a[1]); }));
  t->add(of_numbers("e4m3fnuz", 40, {1}, [](Args a) { return code_of(kE4M3FNUZ, a[0], a[1]); }));
  t->add(of_numbers("e5m2", 45, {1}, [](Args a) { return code_of(kE5M2, a[0], a[1]); }));
  t->add(of_numbers("e5m2fnuz", 45, {1}, [](Args a) { return code_of(kE5M2FNUZ, a[0], a[1]); }));
  t->add(of_numbers("e2m1", 30, {1}, [](Args a) { return code_of(kE2M1, a[0], a[1]); }));
  t->add(of_numbers("e8m0", 80, {1, 1}, [](Args a) { return power_code(a[0], a[1], a[2]); }));
}

}  // namespace hone
