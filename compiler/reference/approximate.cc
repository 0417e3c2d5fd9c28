#include "compiler/reference/approximate.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/narrow_floats.h"
#include "compiler/ir/denormals.h"
#include "compiler/ops/functions/functions.h"

namespace hone {
namespace {

// Allowed relative error of a kernel's exp, log, tanh and erf, in units of u: 4 ulp, twice the bound of codegen.
constexpr double kFunctionUnits = 8;
// Standard deviations that the typical error of an element has: few elements may carry the error of all.
constexpr double kDeviations = 4;
// Replaces infinity in products: infinity times 0 would not be 0.
constexpr double kHuge = 1e300;
constexpr double kLargestF16 = 65504;
// Replaces 0 in denominators.
constexpr double kTiny = 1e-300;

Expr real(double v) { return make_const(v, f64); }
Expr size_of(const Expr& e) { return call(Intrinsic::kAbs, {e->dtype == f64 ? e : cast(f64, e)}); }

Expr add(const Expr& a, const Expr& b) { return is_zero(a) ? b : is_zero(b) ? a : a + b; }
// The larger and the smaller of two bounds; the second when one is a NaN, because 0 times infinity bounds nothing.
Expr most_of(const Expr& a, const Expr& b) { return select(lt(b, a), a, b); }
Expr least_of(const Expr& a, const Expr& b) { return select(lt(a, b), a, b); }
Expr larger(const Expr& a, const Expr& b) { return is_zero(a) ? b : is_zero(b) ? a : most_of(a, b); }
// bound * |factor|
Expr times(const Expr& bound, const Expr& factor) {
  return is_zero(bound) ? bound : least_of(bound, real(kHuge)) * least_of(size_of(factor), real(kHuge));
}

// The least error of rounding to `t`: results below the normal numbers may be flushed to 0. Those of f16 and bf16 are
// not: f16 has half a step there.
double floor_of(DType t) {
  return t == f64 ? std::numeric_limits<double>::min() : t == f16 ? 0x1p-25 : std::numeric_limits<float>::min();
}

// The rounding error of a result in type `t` whose relative error is at most `share`.
Expr rounding(const Expr& value, DType t, double share) { return size_of(value) * real(share) + real(floor_of(t)); }

double rounded_to(double v, DType t) {
  if (t == f32) return static_cast<float>(v);
  if (t == f16) return float_of_f16(f16_of_float(static_cast<float>(v)));
  if (t == bf16) return float_of_bf16(bf16_of_float(static_cast<float>(v)));
  return v;
}

// Integers wrap around as the type does.
Expr wrapped(Expr value, DType t) {
  return t.bits == 64 || t.is_bool() ? std::move(value) : cast(i64, cast(t, std::move(value)));
}

// The most that a step function changes where its argument is off by up to `error`.
template <class F>
Expr steps_within(const F& step, const Expr& x, const Expr& error) {
  if (is_zero(error)) return error;
  return most_of(step(x + error) - step(x), step(x) - step(x - error));
}

// How far f(x) moves where x is off by `error` and f is monotone, from one end of its range to the other in `range`.
// `slope`: the most of |f'| at arguments of that size and beyond, where it falls.
template <class F>
Expr saturating(const Expr& x, const Expr& error, double range, const F& slope) {
  const Expr off = least_of(error, real(kHuge));
  return least_of(off * slope(most_of(least_of(size_of(x), real(kHuge)) - off, real(0))), real(range));
}

// A value whose bounds are `bound_of` applied to the bounds of a and b.
template <class F>
Approximate combined(Expr value, const Approximate& a, const Approximate& b, const F& bound_of) {
  return {std::move(value), bound_of(a.tolerance, b.tolerance), bound_of(a.typical, b.typical)};
}

Expr product_bound(const Approximate& a, const Approximate& b, const Expr& of_a, const Expr& of_b) {
  const Expr both = is_zero(of_a) || is_zero(of_b) ? real(0) : times(of_a, of_b);
  return add(add(times(of_a, b.exact), times(of_b, a.exact)), both);
}

// Where one side is certainly larger, the other's error does not matter.
Expr larger_bound(const Approximate& a, const Approximate& b, const Expr& of_a, const Expr& of_b, bool is_max) {
  if (is_zero(of_a) && is_zero(of_b)) return of_a;
  const Expr x = cast(f64, a.exact), y = cast(f64, b.exact);
  const Expr chosen = is_max ? select(lt(x, y), of_b, of_a) : select(lt(x, y), of_a, of_b);
  return select(lt(add(of_a, of_b), size_of(x - y)), chosen, larger(of_a, of_b));
}

// s64 holds the bits of a u64; where the sign matters it is read as unsigned.
Expr as_unsigned(BinaryOp op, const Expr& a, const Expr& b) {
  return cast(i64, binary(op, cast(u64, a), cast(u64, b)));
}

// A divisor that is no constant: the verifier must see that it is positive.
Expr divisor_of(const Expr& b, DType t) {
  const DType wide = t == u64 ? u64 : i64;
  if (const auto constant = as_const_int(b)) return make_int(*constant, wide);
  return max(cast(wide, b), make_int(1, wide));
}

Expr quotient_or_rest(BinaryOp op, const Expr& a, const Expr& b, DType t) {
  const Expr divisor = divisor_of(b, t);
  return cast(i64, binary(op, cast(divisor->dtype, a), divisor));
}

bool divides(BinaryOp op) { return op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod; }

Expr is_true(const Expr& bit) { return ne(bit, make_int(0, i64)); }

// The bound of a bool that may be either where `unsure` holds.
Expr either_where(const Expr& unsure) { return select(unsure, real(1), real(0)); }

// The result is certain when one side is certain and decides alone.
Approximate approximate_logical(BinaryOp op, const Approximate& a, const Approximate& b) {
  const bool is_and = op == BinaryOp::kAnd;
  const Expr decides = make_int(is_and ? 0 : 1, i64);
  return combined(is_and ? min(a.exact, b.exact) : max(a.exact, b.exact), a, b, [&](const Expr& x, const Expr& y) {
    if (is_zero(x) && is_zero(y)) return x;
    const auto is_decided_by = [&](const Approximate& side, const Expr& bound) {
      return logical_and(le(bound, real(0)), eq(side.exact, decides));
    };
    return select(logical_or(is_decided_by(a, x), is_decided_by(b, y)), real(0), larger(x, y));
  });
}

// An integer result in type `t`, which wraps around: where its bounds reach beyond the type, it may be at either end.
Approximate in_type(const Approximate& v, DType t) {
  const Expr exact = wrapped(v.exact, t);
  if (t.bits >= 64 || t.is_bool() || (is_zero(v.tolerance) && is_zero(v.typical)))
    return {exact, v.tolerance, v.typical};
  const double values = std::ldexp(1.0, t.bits);
  const Expr least = real(t.code == TypeCode::kInt ? -values / 2 : 0),
             most = real(t.code == TypeCode::kInt ? values / 2 - 1 : values - 1);
  const Expr x = cast(f64, v.exact);
  const auto bound = [&](const Expr& error) {
    return is_zero(error) ? error : select(logical_or(lt(x - error, least), lt(most, x + error)), real(values), error);
  };
  return {exact, bound(v.tolerance), bound(v.typical)};
}

Approximate float_to_integer(const Approximate& x, DType to) {
  const auto converted = [&](const Expr& v) { return cast(f64, cast(to, v)); };
  return {cast(i64, cast(to, x.exact)), steps_within(converted, x.exact, x.tolerance),
          steps_within(converted, x.exact, x.typical)};
}

// Integers have no rounding of their own. The value is not wrapped yet.
Approximate integer_binary(BinaryOp op, const Expr& v, const Approximate& a, const Approximate& b) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return combined(v, a, b, &add);
    case BinaryOp::kMul:
      return combined(v, a, b, [&](const Expr& x, const Expr& y) { return product_bound(a, b, x, y); });
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return combined(v, a, b,
                      [&](const Expr& x, const Expr& y) { return larger_bound(a, b, x, y, op == BinaryOp::kMax); });
    // Rounded results: a quotient is no larger than the dividend, a remainder less than the divisor.
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: {
      const Approximate& most = op == BinaryOp::kFloorDiv ? a : b;
      return combined(v, a, b, [&](const Expr& x, const Expr& y) {
        if (is_zero(x) && is_zero(y)) return x;
        return select(lt(real(0), add(x, y)), size_of(v) + size_of(most.exact) + add(x, y), real(0));
      });
    }
    default: break;
  }
  HONE_ICHECK(false) << "reference: " << symbol_of(op) << " of elements";
  return {};
}

}  // namespace

double unit_of(DType t) {
  HONE_ICHECK(t.is_float()) << to_string(t) << " does not round";
  return std::ldexp(1.0, t == f64 ? -53 : t == f32 ? -24 : t == f16 ? -11 : -8);
}

DType wide_of(DType t) { return t.is_float() ? f64 : i64; }

bool is_zero(const Expr& bound) {
  const FloatImm* f = as<FloatImm>(bound);
  return f && f->value == 0;
}

Approximate exactly(Expr value) { return {std::move(value), real(0), real(0)}; }

Approximate approximate_constant(double value, DType t) {
  if (!t.is_float()) return exactly(make_const(value, i64));
  const double error = std::isfinite(value) ? std::fabs(value - rounded_to(value, t)) : 0;
  return {real(value), real(error), real(error)};
}

Approximate approximate_vanishing(Expr value, DType t) {
  if (!may_vanish(t)) return exactly(std::move(value));
  const Expr size = size_of(value), bound = select(lt(size, real(smallest_normal(t))), size, real(0));
  return {std::move(value), bound, bound};
}

double rounding_of(DType t) { return (t == f64 ? 4 : 2) * unit_of(t); }

Approximate approximate_product_term(const Approximate& a, const Approximate& b) {
  return combined(a.exact * b.exact, a, b, [&](const Expr& x, const Expr& y) { return product_bound(a, b, x, y); });
}

Approximate approximate_binary(BinaryOp op, const Approximate& a, const Approximate& b, DType t) {
  if (op == BinaryOp::kAnd || op == BinaryOp::kOr) return approximate_logical(op, a, b);
  const bool sign_matters = op == BinaryOp::kMin || op == BinaryOp::kMax;
  const Expr v = divides(op)                ? quotient_or_rest(op, a.exact, b.exact, t)
                 : t == u64 && sign_matters ? as_unsigned(op, a.exact, b.exact)
                                            : binary(op, a.exact, b.exact);
  if (!t.is_float()) return in_type(integer_binary(op, v, a, b), t);
  const Expr own = rounding(v, t, rounding_of(t));
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return combined(v, a, b, [&](const Expr& x, const Expr& y) { return add(add(x, y), own); });
    case BinaryOp::kMul:
      return combined(v, a, b, [&](const Expr& x, const Expr& y) { return add(product_bound(a, b, x, y), own); });
    case BinaryOp::kDiv:
      return combined(v, a, b, [&](const Expr& x, const Expr& y) {
        const Expr passed = add(x, times(y, v)), divisor = size_of(b.exact);
        return add(is_zero(passed) ? passed : passed / (is_zero(y) ? divisor : most_of(divisor - y, real(kTiny))), own);
      });
    case BinaryOp::kMin:
    case BinaryOp::kMax:
      return combined(v, a, b,
                      [&](const Expr& x, const Expr& y) { return larger_bound(a, b, x, y, op == BinaryOp::kMax); });
    default: break;
  }
  HONE_ICHECK(false) << "reference: " << symbol_of(op) << " of elements";
  return {};
}

Approximate approximate_comparison(BinaryOp op, const Approximate& a, const Approximate& b, DType t) {
  const auto compared = [&](const Expr& e) { return t == u64 ? cast(u64, e) : e; };
  const Expr v = cast(i64, binary(op, compared(a.exact), compared(b.exact)));
  const auto bound = [&](const Expr& x, const Expr& y) {
    if (is_zero(x) && is_zero(y)) return x;
    return either_where(le(size_of(cast(f64, a.exact) - cast(f64, b.exact)), add(x, y)));
  };
  return combined(v, a, b, bound);
}

Approximate approximate_not(const Approximate& x) { return {make_int(1, i64) - x.exact, x.tolerance, x.typical}; }

Approximate approximate_choice(const Approximate& condition, const Approximate& yes, const Approximate& no) {
  const Expr holds = is_true(condition.exact);
  const Expr apart = size_of(cast(f64, yes.exact) - cast(f64, no.exact));
  const auto bound = [&](const Expr& unsure, const Expr& y, const Expr& n) {
    const Expr chosen = is_zero(y) && is_zero(n) ? y : select(holds, y, n);
    return is_zero(unsure) ? chosen : select(lt(real(0), unsure), add(larger(y, n), apart), chosen);
  };
  return {select(holds, yes.exact, no.exact), bound(condition.tolerance, yes.tolerance, no.tolerance),
          bound(condition.typical, yes.typical, no.typical)};
}

Approximate approximate_call(Intrinsic f, const Approximate& x, DType t) {
  const Expr v = call(f, {x.exact});
  if (f == Intrinsic::kRint) {
    const auto rint = [](const Expr& e) { return call(Intrinsic::kRint, {e}); };
    return {v, steps_within(rint, x.exact, x.tolerance), steps_within(rint, x.exact, x.typical)};
  }
  if (f == Intrinsic::kAbs) {
    if (t.is_float()) return {v, x.tolerance, x.typical};
    return t.code == TypeCode::kUInt ? x : in_type({v, x.tolerance, x.typical}, t);
  }
  const auto result = [&](const auto& passed, const Expr& own) {
    const auto bound = [&](const Expr& error) { return add(is_zero(error) ? error : passed(error), own); };
    return Approximate{v, bound(x.tolerance), bound(x.typical)};
  };
  const Expr own = rounding(v, t, kFunctionUnits * rounding_of(t));
  switch (f) {
    case Intrinsic::kSqrt: {
      const auto root = [](const Expr& e) { return call(Intrinsic::kSqrt, {most_of(e, real(0))}); };
      return result([&](const Expr& e) { return steps_within(root, x.exact, e); }, rounding(v, t, rounding_of(t)));
    }
    // e^(x + error) - e^x; for small errors, where the difference is not exact, its first order.
    case Intrinsic::kExp:
      return result([&](const Expr& e) { return times(most_of(e, call(Intrinsic::kExp, {e}) - real(1)), v); }, own);
    // A negative number that may be a zero has no logarithm to round, and may have any.
    case Intrinsic::kLog:
      return result([&](const Expr& e) { return e / most_of(x.exact - e, real(kTiny)); },
                    select(lt(real(0), x.exact), own, real(0)));
    // Sine and cosine of large numbers: kernels reduce by multiples of pi less exactly (codegen/llvm/emit_math.h).
    case Intrinsic::kSin:
    case Intrinsic::kCos: {
      const Expr of_multiples = least_of(times(size_of(x.exact), real(0x1p-44)), real(2));
      return result([&](const Expr& e) { return least_of(e, real(2)); }, add(own, of_multiples));
    }
    default: break;
  }
  // Functions that saturate, by their slopes: 1 / (1 + x^2), 1 / cosh(x)^2 and 2 / sqrt(pi) e^(-x^2).
  const auto slope = [&](const Expr& size) -> Expr {
    const auto power_of_e = [](const Expr& e) { return call(Intrinsic::kExp, {e}); };
    if (f == Intrinsic::kAtan) return real(1) / (real(1) + size * size);
    if (f == Intrinsic::kTanh) return least_of(real(1), real(4) * power_of_e(size * real(-2)));
    HONE_ICHECK(f == Intrinsic::kErf) << "reference: " << name_of(f) << " of elements";
    return real(1.1284) * power_of_e(real(0) - size * size);
  };
  const double range = f == Intrinsic::kAtan ? 3.15 : 2;
  return result([&](const Expr& e) { return saturating(x.exact, e, range, slope); }, own);
}

Approximate approximate_logistic(const Approximate& y, DType t) {
  const Expr v = real(1) / (real(1) + call(Intrinsic::kExp, {y.exact}));
  // e^y, the sum and the quotient; where e^y is more than `t` holds, the kernel's quotient is 0.
  const Expr own = rounding(v, t, (kFunctionUnits + 2) * rounding_of(t)) + real(t == f16 ? 1 / kLargestF16 : 0);
  // The slope is e^-|y| / (1 + e^-|y|)^2.
  const auto slope = [](const Expr& size) { return least_of(real(0.25), call(Intrinsic::kExp, {real(0) - size})); };
  const auto bound = [&](const Expr& error) {
    return add(is_zero(error) ? error : saturating(y.exact, error, 1, slope), own);
  };
  return {v, bound(y.tolerance), bound(y.typical)};
}

Approximate approximate_cast(const Approximate& x, DType from, DType to) {
  if (from == to) return x;
  if (to.is_bool()) {
    const Expr zero = make_const(0, x.exact->dtype);
    const auto bound = [&](const Expr& e) { return is_zero(e) ? e : either_where(le(size_of(x.exact), e)); };
    return {cast(i64, ne(x.exact, zero)), bound(x.tolerance), bound(x.typical)};
  }
  if (from.is_float() && !to.is_float()) return float_to_integer(x, to);
  if (!from.is_float() && !to.is_float()) {
    return holds_all(from, to) ? x : in_type(x, to);
  }
  const Expr v = from.is_float() ? x.exact : cast(f64, from == u64 ? cast(u64, x.exact) : x.exact);
  // Every value of the narrower type fits the wider: s16 in f32, s32 in f64.
  const bool widens = from.is_float() ? to.bits > from.bits || to == from : from.bits * 2 <= to.bits;
  if (widens) return {v, x.tolerance, x.typical};
  const double u = unit_of(to);
  const auto bound = [&](const Expr& error) {
    return add(is_zero(error) ? error : error * real(1 + u), rounding(v, to, u));
  };
  return {v, bound(x.tolerance), bound(x.typical)};
}

namespace {

// The typical rounding error of a sum. Each of about `length` additions rounds the sum so far by at most u:
// independently of the others, with mean 0 and variance u^2 / 3 (Higham and Mary, A New Approach to Probabilistic
// Rounding Error Analysis). In any order, no partial sum exceeds the sum of the positive or of the negative terms,
// (sum|t| + |sum t|) / 2; the sum itself is no bound, as large terms may cancel. Equal terms round alike, so their
// errors add up in one direction instead of cancelling.
Expr typical_error(const TermSums& s, DType t, double length, double factor_error) {
  const double u = unit_of(t);
  Expr steps = real(kDeviations * std::sqrt((length + 2) / 3));
  if (s.repeats) steps = steps + s.repeats;
  const Expr error = (s.sizes + size_of(s.sum)) * real(0.5 * u) * steps + real((length + 2) * floor_of(t));
  if (factor_error == 0) return error;
  HONE_ICHECK(s.squares) << "reference: squares of terms are not known";
  // Two factors, each off by half of that at most.
  return error + call(Intrinsic::kSqrt, {s.squares}) * real(kDeviations * factor_error / std::sqrt(6.0));
}

}  // namespace

Approximate approximate_sum(const TermSums& terms, const Approximate& bounds, DType t, int64_t length,
                            double term_error) {
  if (!t.is_float()) return {wrapped(terms.sum, t), bounds.tolerance, bounds.typical};
  // Each of `length` additions rounds by u, relative to a sum that is at most `sizes`: Higham, Accuracy and Stability
  // of Numerical Algorithms, 4.2. Two more cover terms of second order.
  const double u = unit_of(t), k = static_cast<double>(length);
  const Expr tolerance =
      add(bounds.tolerance, terms.sizes * real((k + 2) * u + term_error) + real((k + 2) * floor_of(t)));
  const Expr typical = add(bounds.typical, typical_error(terms, t, k, std::max(0.0, term_error - rounding_of(t))));
  if (t != f16) return {terms.sum, tolerance, typical};
  // Some order of the terms may have gone beyond the type's largest number on the way, and an infinity stays one.
  const Expr may_overflow = lt(real(kLargestF16), terms.sizes * real(1 + (k + 2) * u));
  const auto bound = [&](const Expr& error) { return select(may_overflow, real(kHuge), error); };
  return {terms.sum, bound(tolerance), bound(typical)};
}

}  // namespace hone
