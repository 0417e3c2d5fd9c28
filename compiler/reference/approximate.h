// Values with bounds on their rounding errors, as expressions of the IR: how each operation propagates its operands'
// errors, and the error that it adds itself.
#pragma once

#include "compiler/ir/expr.h"

namespace hone {

/// A value as the reference computes it, and how far a right kernel's may be from it. All three are scalars: `exact` is
/// s64 of integers and bools, f64 of floats; the bounds are f64, absolute and at least 0. A bound that is a constant 0
/// needs no code: bounds computed from it are constant 0, too, where nothing is added.
struct Approximate {
  Expr exact;
  /// |kernel - exact| <= tolerance for every order of summation, to first order in the units of rounding and doubled
  /// for the rest.
  Expr tolerance;
  /// The same with a sum's roundings adding up like a random walk, to four standard deviations: all elements together
  /// are held to the root of the sum of these squares.
  Expr typical;
};

/// u: the largest relative error of rounding to `t` (2^-24 for f32). `t` is a float.
double unit_of(DType t);

/// s64 of integers and bools, f64 of floats.
DType wide_of(DType t);

bool is_zero(const Expr& bound);

/// A value without error.
Approximate exactly(Expr value);

/// A constant as type `t` holds it.
Approximate approximate_constant(double value, DType t);

/// `value`, an element of type `t` without error, which a kernel may take for zero where it is denormal.
Approximate approximate_vanishing(Expr value, DType t);

/// The error that one operation in type `t` adds to a bound, relative to its result: u, twice that for terms of second
/// order, and twice again in f64, because the reference rounds, too.
double rounding_of(DType t);

/// a (op) b computed in type `t`: arithmetic of numbers; && and || of bools. A divisor that is no constant counts as 1
/// where it is less: stages that divide by elements see to it (the verifier wants a proof).
Approximate approximate_binary(BinaryOp op, const Approximate& a, const Approximate& b, DType t);
/// Bools: 0 and 1, with bound 1 where the errors of the compared values may turn them over, else 0.
///
/// A comparison of numbers of type `t`.
Approximate approximate_comparison(BinaryOp op, const Approximate& a, const Approximate& b, DType t);
Approximate approximate_not(const Approximate& x);
/// condition ? yes : no, where both may be read; either of them where the condition is not certain.
Approximate approximate_choice(const Approximate& condition, const Approximate& yes, const Approximate& no);
/// a * b as the term of a sum, which counts the product's own rounding (and where integers wrap around).
Approximate approximate_product_term(const Approximate& a, const Approximate& b);

/// 1 / (1 + e^y) computed in type `t`. By itself: when y may be off by 1, the bound of e^y is as large as e^y, and the
/// quotient's is not.
Approximate approximate_logistic(const Approximate& y, DType t);

/// f(x) computed in type `t`.
Approximate approximate_call(Intrinsic f, const Approximate& x, DType t);

/// `x` of type `from` converted to `to`.
Approximate approximate_cast(const Approximate& x, DType from, DType to);

/// Sums over the terms of a reduction. Scalars in f64, but `sum` of integers; null: not known.
struct TermSums {
  Expr sum;      ///< of their values
  Expr sizes;    ///< of their absolute values; null for integers
  Expr squares;  ///< of their values' squares; null where each term is exact but for roundings of the sum's own type
  Expr repeats;  ///< how many are equal to the term before and not 0; null: as good as none
};

/// A sum in type `t` of `length` terms; `bounds`: the sums of theirs. `term_error`: the relative error of each term
/// that its bound leaves out.
Approximate approximate_sum(const TermSums& terms, const Approximate& bounds, DType t, int64_t length,
                            double term_error);

}  // namespace hone
