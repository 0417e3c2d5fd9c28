// Linear forms of integer expressions: constant + sum of coefficient * atom.
#pragma once

#include <optional>

#include "base/small_vector.h"
#include "compiler/ir/expr.h"

namespace hone {

/// Structural equality; variables and buffers by identity.
bool equal(const Expr& a, const Expr& b);

/// constant + sum of terms. An atom is a variable or an expression that is not linear itself (floordiv, floormod, min,
/// max, load, …); atoms differ pairwise and no coefficient is 0.
struct Linear {
  struct Term {
    Expr atom;
    int64_t coefficient;
  };
  SmallVector<Term, 6> terms;
  int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
  /// Coefficient of a variable; 0 when it is not a term (it may still stand inside another atom).
  int64_t coefficient_of(const VarNode* var) const;
  /// Back to an expression, terms in order.
  Expr to_expr() const;
  /// True when to_expr() would give `e` again, with these very atoms.
  bool is_written_as(const Expr& e) const;
};

/// out += scale * e; false when a coefficient overflows, and `out` is then of no use.
bool accumulate(Linear* out, const Expr& e, int64_t scale);
/// The linear form of an integer scalar expression. Nothing when a coefficient overflows.
std::optional<Linear> linear_of(const Expr& e);
/// a + scale * b; nothing on overflow.
std::optional<Linear> add(const Linear& a, const Linear& b, int64_t scale = 1);
/// The same number with k * (x floormod c) written as k * x - k * c * (x floordiv c): conditions name remainders where
/// indices, joined, no longer do. Nothing where there is none, or on overflow.
std::optional<Linear> without_remainders(const Linear& form);
/// The same number with k * v, where `quotient` is v floordiv c of a variable v, written as k * c * quotient + k * (v
/// floormod c): facts name the digits of a number where indices, joined, no longer do. Nothing where `quotient` is
/// none, v is no term of `form`, or on overflow.
std::optional<Linear> with_digits(const Linear& form, const Expr& quotient);
/// A bound on the dividend of the first quotient k * (x floordiv c), c > 0, in `form >= 0`: a form that is at least c
/// times `form`, with x in the quotient's position. Nothing when there is no such quotient, or on overflow.
std::optional<Linear> bound_on_dividend(const Linear& form);

}  // namespace hone
