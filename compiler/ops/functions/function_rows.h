// Pieces of the rows of the table of functions, and the groups that it is made of.
#pragma once

#include "compiler/ops/functions/functions.h"

namespace hone {

using Args = std::span<const Expr>;

/// A constant of the type of `like`.
inline Expr constant(double v, const Expr& like) { return make_const(v, like->dtype); }
inline Expr absolute(const Expr& x) { return call(Intrinsic::kAbs, {x}); }
inline Expr exponential(const Expr& x) { return call(Intrinsic::kExp, {x}); }
inline Expr nearest(const Expr& x) { return call(Intrinsic::kRint, {x}); }
/// a != b, of bools.
inline Expr differ(const Expr& a, const Expr& b) {
  return logical_and(logical_or(a, b), logical_not(logical_and(a, b)));
}

/// x of floats; x and y of floats and integers; x of floats and numbers that have defaults.
ScalarFunction unary(std::string name, int operations, Expr (*apply)(const Expr&));
ScalarFunction binary(std::string name, Expr (*apply)(const Expr&, const Expr&), int operations = 1);
ScalarFunction of_numbers(std::string name, int operations, std::vector<double> defaults, Expr (*apply)(Args));
ScalarFunction of_integers_too(ScalarFunction f);
ScalarFunction of_floats(ScalarFunction f);

/// rsub, rdiv, pow, mod, floor, sign, maximum, …
void add_arithmetic(FunctionTable* t);
/// leaky, prelu, selu, …
void add_activations(FunctionTable* t);
/// sin, acos, asinh, …
void add_trigonometry(FunctionTable* t);
/// Comparisons, where, and functions of bools.
void add_logic(FunctionTable* t);
/// bitwise_and, bitwise_or, bitwise_xor, bitwise_not, of integers.
void add_bitwise(FunctionTable* t);
/// e4m3fn, e5m2, …: codes of floats of 8 and 4 bits.
void add_minifloats(FunctionTable* t);

}  // namespace hone
