// Trigonometric and hyperbolic functions and their inverses, made of the IR's. Near 0 and 1 they take forms that
// lose no digits.
#include "compiler/ops/functions/function_rows.h"

namespace hone {
namespace {

using E = const Expr&;

Expr square_root(E x) { return call(Intrinsic::kSqrt, {x}); }
Expr log(E x) { return call(Intrinsic::kLog, {x}); }
Expr atan(E x) { return call(Intrinsic::kAtan, {x}); }
Expr with_sign_of(E size, E x) { return select(lt(x, constant(0, x)), constant(-0.0, x) - size, size); }

// x (1 + x^2 / 3 + x^4 / 5 + …), for |x| <= 1/4: the first term left out is 2^-24 / 17 of x for f32.
Expr atanh_of_small(E x) {
  constexpr int kTerms = 12;
  const Expr square = x * x;
  Expr sum = constant(1.0 / (2 * kTerms + 1), x);
  for (int k = kTerms - 1; k >= 0; --k) sum = sum * square + constant(1.0 / (2 * k + 1), x);
  return x * sum;
}
Expr atanh(E x) {
  const Expr one = constant(1, x);
  return select(lt(absolute(x), constant(0.25, x)), atanh_of_small(x), constant(0.5, x) * log((one + x) / (one - x)));
}

// log(x + sqrt(x^2 + 1)); of small x by 2 atanh(x / (1 + sqrt(1 + x^2))), of large ones, whose square is infinite,
// log(2 x).
Expr asinh(E x) {
  const Expr size = absolute(x), one = constant(1, x), root = square_root(size * size + one);
  const Expr small = constant(2, x) * atanh_of_small(size / (one + root));
  const Expr far = log(size) + constant(0.69314718055994531, x);
  return with_sign_of(
      select(lt(size, constant(0.5, x)), small, select(lt(size, constant(1e9, x)), log(size + root), far)), x);
}
Expr acosh(E x) {
  const Expr one = constant(1, x);
  const Expr far = log(x) + constant(0.69314718055994531, x);
  return select(lt(x, constant(1e9, x)), constant(2, x) * asinh(square_root((x - one) * constant(0.5, x))), far);
}

Expr asin(E x) {
  const Expr one = constant(1, x);
  return constant(2, x) * atan(x / (one + square_root((one - x) * (one + x))));
}
Expr acos(E x) {
  const Expr one = constant(1, x);
  return constant(2, x) * atan(square_root((one - x) / (one + x)));
}

// (e^|x| + e^-|x|) / 2 and (e^|x| - e^-|x|) / 2: e^|x| as a square, which is infinite no earlier than the result.
Expr cosh(E x) {
  const Expr half = constant(0.5, x), root = exponential(absolute(x) * half);
  return root * half * root + half / (root * root);
}
Expr sinh(E x) {
  const Expr half = constant(0.5, x), size = absolute(x), root = exponential(size * half), square = x * x;
  // x (1 + x^2 / 3! + x^4 / 5! + …): the first term left out is 1 / 19! of x.
  Expr sum = constant(1, x);
  for (int k = 8; k >= 1; --k) sum = constant(1, x) + sum * square * constant(1.0 / (2 * k * (2 * k + 1)), x);
  return select(lt(size, constant(1, x)), x * sum, with_sign_of(root * half * root - half / (root * root), x));
}

}  // namespace

void add_trigonometry(FunctionTable* t) {
  t->add(unary("sin", 20, [](E x) { return call(Intrinsic::kSin, {x}); }));
  t->add(unary("cos", 20, [](E x) { return call(Intrinsic::kCos, {x}); }));
  t->add(unary("tan", 40, [](E x) { return call(Intrinsic::kSin, {x}) / call(Intrinsic::kCos, {x}); }));
  t->add(unary("asin", 20, &asin));
  t->add(unary("acos", 20, &acos));
  t->add(unary("atan", 15, &atan));
  t->add(unary("sinh", 25, &sinh));
  t->add(unary("cosh", 15, &cosh));
  t->add(unary("asinh", 40, &asinh));
  t->add(unary("acosh", 40, &acosh));
  t->add(unary("atanh", 30, &atanh));
}

}  // namespace hone
