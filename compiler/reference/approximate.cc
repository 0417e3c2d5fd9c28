#include "compiler/reference/approximate.h"

#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/narrow_floats.h"

namespace hone {
namespace {

// exp, log, tanh and erf of a kernel may be off by this many u, relative: 4 ulp, twice what codegen promises.
constexpr double kFunctionUnits = 8;
// Stands for infinity where it is multiplied: times 0 that would not be 0.
constexpr double kHuge = 1e300;

Expr real(double v) { return make_const(v, f64); }
Expr size_of(const Expr& e) { return call(Intrinsic::kAbs, {e->dtype == f64 ? e : cast(f64, e)}); }

Expr add(const Expr& a, const Expr& b) { return is_zero(a) ? b : is_zero(b) ? a : a + b; }
Expr larger(const Expr& a, const Expr& b) { return is_zero(a) ? b : is_zero(b) ? a : max(a, b); }
Expr scaled(const Expr& bound, double factor) { return is_zero(bound) || factor == 0 ? real(0) : bound * real(factor); }
// bound * |factor|
Expr times(const Expr& bound, const Expr& factor) {
  return is_zero(bound) ? bound : min(bound, real(kHuge)) * min(size_of(factor), real(kHuge));
}

// The smallest error that rounding in `t` may make: results below the normal numbers may be flushed to 0; those of 16
// bits are not, and have half a step.
double floor_of(DType t) {
  return t == f64 ? std::numeric_limits<double>::min() : t == f16 ? 0x1p-25 : std::numeric_limits<float>::min();
}

// The rounding of a result in type `t` that is relatively off by at most `share`.
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

// The most that a step function may change where its argument is off by `error`.
template <class F>
Expr steps_within(const F& step, const Expr& x, const Expr& error) {
  if (is_zero(error)) return error;
  return max(step(x + error) - step(x), step(x) - step(x - error));
}

// The bounds that `bound_of` makes of those of a and b.
template <class F>
Approximate combined(Expr value, const Approximate& a, const Approximate& b, const F& bound_of) {
  return {std::move(value), bound_of(a.tolerance, b.tolerance), bound_of(a.typical, b.typical)};
}

Expr product_bound(const Approximate& a, const Approximate& b, const Expr& of_a, const Expr& of_b) {
  return add(times(of_a, b.exact), times(of_b, a.exact));
}

Approximate float_to_integer(const Approximate& x, DType to) {
  const auto converted = [&](const Expr& v) { return cast(f64, cast(to, v)); };
  return {cast(i64, cast(to, x.exact)), steps_within(converted, x.exact, x.tolerance),
          steps_within(converted, x.exact, x.typical)};
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

double rounding_of(DType t) { return (t == f64 ? 4 : 2) * unit_of(t); }

Approximate approximate_product_term(const Approximate& a, const Approximate& b) {
  return combined(a.exact * b.exact, a, b, [&](const Expr& x, const Expr& y) { return product_bound(a, b, x, y); });
}

Approximate approximate_binary(BinaryOp op, const Approximate& a, const Approximate& b, DType t) {
  const Expr v = t.is_float() ? binary(op, a.exact, b.exact) : wrapped(binary(op, a.exact, b.exact), t);
  const Expr own = t.is_float() ? rounding(v, t, rounding_of(t)) : real(0);
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub: return combined(v, a, b, [&](const Expr& x, const Expr& y) { return add(add(x, y), own); });
    case BinaryOp::kMul:
      return combined(v, a, b, [&](const Expr& x, const Expr& y) { return add(product_bound(a, b, x, y), own); });
    case BinaryOp::kDiv:
      return combined(v, a, b, [&](const Expr& x, const Expr& y) {
        const Expr passed = add(x, times(y, v));
        return add(is_zero(passed) ? passed : passed / size_of(b.exact), own);
      });
    case BinaryOp::kMin:
    case BinaryOp::kMax: return combined(v, a, b, &larger);
    case BinaryOp::kFloorDiv:
      HONE_ICHECK(is_zero(a.tolerance) && is_zero(b.tolerance)) << "reference: an integer division of what is rounded";
      return exactly(v);
    default: break;
  }
  HONE_ICHECK(false) << "reference: " << symbol_of(op) << " of elements";
  return {};
}

Approximate approximate_call(Intrinsic f, const Approximate& x, DType t) {
  const Expr v = call(f, {x.exact});
  if (f == Intrinsic::kRint) {
    const auto rint = [](const Expr& e) { return call(Intrinsic::kRint, {e}); };
    return {v, steps_within(rint, x.exact, x.tolerance), steps_within(rint, x.exact, x.typical)};
  }
  if (f == Intrinsic::kAbs) return {t.is_float() ? v : wrapped(v, t), x.tolerance, x.typical};
  const auto result = [&](const auto& passed, const Expr& own) {
    const auto bound = [&](const Expr& error) { return add(is_zero(error) ? error : passed(error), own); };
    return Approximate{v, bound(x.tolerance), bound(x.typical)};
  };
  const Expr own = rounding(v, t, kFunctionUnits * rounding_of(t));
  switch (f) {
    // error / (2 sqrt x), where sqrt x is not so small that the division says nothing.
    case Intrinsic::kSqrt:
      return result([&](const Expr& e) { return e / max(v * real(2), real(1e-300)); }, rounding(v, t, rounding_of(t)));
    case Intrinsic::kExp: return result([&](const Expr& e) { return times(e, v); }, own);
    case Intrinsic::kLog: return result([&](const Expr& e) { return e / size_of(x.exact); }, own);
    // Their slopes are at most 1 and 2 / sqrt(pi).
    case Intrinsic::kTanh: return result([&](const Expr& e) { return e; }, own);
    case Intrinsic::kErf: return result([&](const Expr& e) { return e * real(1.1284); }, own);
    default: break;
  }
  HONE_ICHECK(false) << "reference: " << name_of(f) << " of elements";
  return {};
}

Approximate approximate_cast(const Approximate& x, DType from, DType to) {
  if (from.is_float() && !to.is_float()) return float_to_integer(x, to);
  if (!from.is_float() && !to.is_float()) {
    const bool holds_all = to.bits > from.bits && (from.code == to.code || from.code != TypeCode::kInt);
    return {holds_all ? x.exact : wrapped(x.exact, to), x.tolerance, x.typical};
  }
  const Expr v = from.is_float() ? x.exact : cast(f64, x.exact);
  // All that the type held, the other holds, too: s16 in f32, s32 in f64.
  const bool widens = from.is_float() ? to.bits > from.bits || to == from : from.bits * 2 <= to.bits;
  if (widens) return {v, x.tolerance, x.typical};
  const double u = unit_of(to);
  const auto bound = [&](const Expr& error) { return add(scaled(error, 1 + u), rounding(v, to, u)); };
  return {v, bound(x.tolerance), bound(x.typical)};
}

Approximate approximate_sum(Expr sum, const Expr& sizes, const Approximate& bounds, DType t, int64_t length,
                            double term_error) {
  if (!t.is_float()) return {wrapped(std::move(sum), t), bounds.tolerance, bounds.typical};
  // Each of `length` additions rounds by u, relative to a sum that is at most `sizes`: Higham, Accuracy and Stability
  // of Numerical Algorithms, 4.2. Two more are for what is of second order. On average they add like a random walk.
  const double u = unit_of(t), k = static_cast<double>(length);
  const Expr tolerance = add(bounds.tolerance, sizes * real((k + 2) * u + term_error) + real((k + 2) * floor_of(t)));
  const Expr typical =
      add(bounds.typical, size_of(sum) * real(4 * std::sqrt(k + 2) * u + std::max(0.0, term_error - rounding_of(t))) +
                              real((k + 2) * floor_of(t)));
  return {std::move(sum), tolerance, typical};
}

}  // namespace hone
