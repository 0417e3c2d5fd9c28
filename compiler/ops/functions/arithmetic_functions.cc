#include <cmath>

#include "compiler/ops/functions/function_rows.h"
#include "compiler/ops/functions/integer_division.h"
#include "compiler/ops/functions/power.h"

namespace hone {
namespace {

using E = const Expr&;

// Right for every float: rint keeps whole numbers, infinities, NaNs and -0.
Expr floor(E x) {
  const Expr whole = nearest(x);
  return select(lt(x, whole), whole - constant(1, x), whole);
}
// The ceiling of -0.7 is -0, as C has it.
Expr ceil(E x) {
  const Expr minus_zero = constant(-0.0, x);
  return minus_zero - floor(minus_zero - x);
}

Expr sign(E x) {
  const Expr zero = constant(0, x), one = constant(1, x);
  if (x->dtype.code == TypeCode::kUInt) return min(x, one);
  if (x->dtype.is_integer()) return max(min(x, one), constant(-1, x));
  return select(lt(zero, x), one, select(lt(x, zero), constant(-1, x), x));
}

bool is_number(E x) { return x->kind == ExprKind::kFloatImm && !std::isnan(as<FloatImm>(x)->value); }

// As max and min, which once lost NaNs. With a number as operand the programs are as they were.
Expr maximum(E x, E y) { return x->dtype.is_float() && is_number(y) ? max(y, x) : max(x, y); }
Expr minimum(E x, E y) { return x->dtype.is_float() && is_number(y) ? min(y, x) : min(x, y); }

// The remainder of |x| / |y|: that of the nearest multiple, moved into [0, |y|), with x's sign. |x| if y is infinite.
Expr fmod(E x, E y) {
  if (!x->dtype.is_float()) return truncated_remainder(x, y);
  const Expr a = absolute(x), b = absolute(y), zero = constant(0, x);
  const Expr rest = a - b * nearest(a / b);
  const Expr size = select(lt(a, b), a, select(lt(rest, zero), rest + b, rest));
  return select(lt(x, zero), constant(-0.0, x) - size, size);
}

}  // namespace

void add_arithmetic(FunctionTable* t) {
  t->add(binary("rsub", [](E x, E y) { return y - x; }));
  t->add(binary("rdiv", [](E x, E y) { return quotient(y, x); }));
  t->add(of_floats(binary(
      "pow", [](E x, E y) { return power(x, y); }, 5)));
  t->add(of_floats(binary(
      "rpow", [](E x, E y) { return power(y, x); }, 5)));
  t->add(binary("fmod", &fmod, 3));
  ScalarFunction mod = binary("mod", &floored_remainder, 2);
  mod.takes_floats = false;
  t->add(std::move(mod));
  t->add(unary("floor", 2, &floor));
  t->add(unary("ceil", 2, &ceil));
  t->add(of_integers_too(unary("sign", 2, &sign)));
  t->add(binary("maximum", &maximum));
  t->add(binary("minimum", &minimum));
}

}  // namespace hone
