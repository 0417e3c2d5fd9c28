#include "compiler/ops/functions/power.h"

#include <cmath>
#include <limits>

#include "compiler/ops/functions/function_rows.h"

namespace hone {
namespace {

constexpr double kPowerInfinity = std::numeric_limits<double>::infinity();

Expr whole_power(const Expr& x, int n) {
  if (n == 1) return x;
  const Expr half = whole_power(x, n / 2);
  return n % 2 == 0 ? half * half : half * half * x;
}

// The power x^n as products, roots and a quotient of them; null when n needs the general function.
Expr simple_power(const Expr& x, double n) {
  Expr one = constant(1, x);
  if (n == 0) return one;
  if (std::fabs(n) == 0.5) {
    // pow(-0, 0.5) is 0 and pow(-inf, 0.5) inf, where sqrt has -0 and NaN.
    const Expr root = call(Intrinsic::kSqrt, {x}) + constant(0, x);
    const Expr value = select(eq(x, constant(-kPowerInfinity, x)), constant(kPowerInfinity, x), root);
    return n > 0 ? value : one / value;
  }
  if (n != std::floor(n) || std::fabs(n) > 8) return nullptr;
  const Expr product = whole_power(x, static_cast<int>(std::fabs(n)));
  return n > 0 ? product : one / product;
}

// The conditions of an exponent; of a number they are constants, which choose here and now.
Expr exponent_is_whole(const Expr& y) {
  if (const FloatImm* n = as<FloatImm>(y)) return make_bool(n->value == std::nearbyint(n->value));
  return eq(nearest(y), y);
}
Expr exponent_is_odd(const Expr& y) {
  if (const FloatImm* n = as<FloatImm>(y)) return make_bool(std::fmod(n->value, 2) != 0);
  return ne(nearest(y * constant(0.5, y)) * constant(2, y), y);
}
Expr exponent_is_zero(const Expr& y) {
  if (const FloatImm* n = as<FloatImm>(y)) return make_bool(n->value == 0);
  return eq(y, constant(0, y));
}

}  // namespace

Expr power(const Expr& x, const Expr& y) {
  if (const FloatImm* n = as<FloatImm>(y))
    if (Expr simple = simple_power(x, n->value)) return simple;
  const FloatImm* base = as<FloatImm>(x);
  if (base && base->value == 1) return x;
  if (base && base->value > 0) return call(Intrinsic::kExp, {y * constant(std::log(base->value), y)});
  const Expr one = constant(1, x);
  const Expr size = absolute(x);
  // log 1 = 0 and y = 0 make NaNs of infinities.
  const Expr of_size = select(logical_or(exponent_is_zero(y), eq(size, one)), one,
                              call(Intrinsic::kExp, {y * call(Intrinsic::kLog, {size})}));
  const Expr infinite = constant(kPowerInfinity, x);
  const Expr of_negative = select(exponent_is_whole(y), select(exponent_is_odd(y), constant(0, x) - of_size, of_size),
                                  select(eq(size, infinite), of_size, constant(std::nan(""), x)));
  return select(lt(x, constant(0, x)), of_negative, of_size);
}

}  // namespace hone
