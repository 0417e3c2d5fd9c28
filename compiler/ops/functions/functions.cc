#include "compiler/ops/functions/functions.h"

#include <absl/strings/str_join.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "compiler/ops/functions/function_rows.h"
#include "compiler/ops/functions/integer_division.h"

namespace hone {
namespace {

Expr negative(const Expr& x) { return constant(x->dtype.is_float() ? -0.0 : 0, x) - x; }
Expr sigmoid(const Expr& x) { return constant(1, x) / (constant(1, x) + exponential(negative(x))); }
Expr hard_sigmoid(const Expr& x, const Expr& alpha, const Expr& beta) {
  return max(min(x * alpha + beta, constant(1, x)), constant(0, x));
}
Expr hard_swish(const Expr& x) { return x * hard_sigmoid(x, constant(1.0 / 6, x), constant(0.5, x)); }
Expr gelu(const Expr& x) {
  constexpr double kHalfRoot = 0.70710678118654752;
  return x * constant(0.5, x) * (constant(1, x) + call(Intrinsic::kErf, {x * constant(kHalfRoot, x)}));
}
// Hendrycks and Gimpel's approximation: (1 + tanh(u)) / 2 is sigmoid(2u).
Expr gelu_tanh(const Expr& x) {
  constexpr double kTwoRoots = 1.5957691216057308;  // of 2 / pi
  return x * sigmoid(x * constant(kTwoRoots, x) * (constant(1, x) + x * x * constant(0.044715, x)));
}
// log(1 + e^x) without e^x where that overflows.
Expr softplus(const Expr& x) {
  const Expr size = call(Intrinsic::kAbs, {x});
  return max(x, constant(0, x)) + call(Intrinsic::kLog, {constant(1, x) + exponential(negative(size))});
}
// x tanh(log(1 + e^x)): with w = e^x (e^x + 2) the hyperbolic tangent is w / (w + 2), which is 1 long before e^x
// overflows.
Expr mish(const Expr& x) {
  constexpr double kOneFrom = 20;
  const Expr e = exponential(min(constant(kOneFrom, x), x)), w = e * (e + constant(2, x));
  return x * (w * (constant(1, x) / (w + constant(2, x))));
}
Expr elu(const Expr& x, const Expr& alpha) {
  const Expr zero = constant(0, x);
  return max(x, zero) + alpha * (exponential(min(x, zero)) - constant(1, x));
}

// The largest (least) number of the float type `t` that the integer type holds: 2^31 - 1 is no f32.
double most_of(DType integer, DType t) {
  const int digits = integer.bits - (integer.code == TypeCode::kInt ? 1 : 0);
  const int kept = t == f64 ? 53 : t == f32 ? 24 : t == f16 ? 11 : 8;
  const double most = std::ldexp(1.0, digits) - (digits > kept ? std::ldexp(1.0, digits - kept) : 1);
  return t == f16 ? std::min(most, 65504.0) : most;
}
double least_of(DType integer, DType t) {
  if (integer.code != TypeCode::kInt) return 0;
  const double least = -std::ldexp(1.0, integer.bits - 1);
  return t == f16 ? std::max(least, -65504.0) : least;
}

// Into the range of `to`. A NaN stays one, and the cast behind makes it 0.
Expr saturate(const Expr& x, DType to) {
  const DType from = x->dtype;
  if (to.is_float()) return x;
  if (from.is_float()) return max(min(x, constant(most_of(to, from), x)), constant(least_of(to, from), x));
  // Bounds that the narrower type has, where the wider one can exceed them.
  Expr out = x;
  const int digits = to.bits - (to.code == TypeCode::kInt ? 1 : 0);
  if (from.bits - (from.code == TypeCode::kInt ? 1 : 0) > digits)
    out = min(out, make_int(INT64_MAX >> (63 - digits), from));
  if (from.code == TypeCode::kInt && (to.code != TypeCode::kInt || to.bits < from.bits))
    out = max(out, make_int(to.code == TypeCode::kInt ? -(int64_t{1} << (to.bits - 1)) : 0, from));
  return out;
}

}  // namespace

std::string_view exchanged(std::string_view function) {
  static constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {"add", "add"},         {"mul", "mul"},
      {"maximum", "maximum"}, {"minimum", "minimum"},
      {"equal", "equal"},     {"not_equal", "not_equal"},
      {"and", "and"},         {"or", "or"},
      {"xor", "xor"},         {"sub", "rsub"},
      {"div", "rdiv"},        {"pow", "rpow"},
      {"less", "greater"},    {"less_equal", "greater_equal"}};
  for (const auto& [one, other] : kPairs) {
    if (function == one) return other;
    if (function == other) return one;
  }
  return {};
}

bool holds_all(DType from, DType to) {
  return to.bits > from.bits && (from.code == to.code || from.code != TypeCode::kInt);
}

size_t ScalarFunction::operands() const {
  return arguments.size() - static_cast<size_t>(std::count(arguments.begin(), arguments.end(), ArgumentKind::kNumber));
}

void FunctionTable::add(ScalarFunction row) {
  HONE_ICHECK(!find(row.name)) << "function " << row.name << " is there already";
  rows_.push_back(std::make_shared<const ScalarFunction>(std::move(row)));
}

std::shared_ptr<const ScalarFunction> FunctionTable::find(std::string_view name) const {
  const auto it = std::find_if(rows_.begin(), rows_.end(), [&](const auto& row) { return row->name == name; });
  return it == rows_.end() ? nullptr : *it;
}

std::string FunctionTable::names() const {
  return absl::StrJoin(rows_, " ", [](std::string* out, const auto& row) { *out += row->name; });
}

FunctionTable standard_functions() {
  using E = const Expr&;
  FunctionTable t;
  t.add(of_integers_too(unary("relu", 1, [](E x) { return max(x, constant(0, x)); })));
  t.add(of_integers_too(unary("relu6", 2, [](E x) { return min(max(x, constant(0, x)), constant(6, x)); })));
  t.add(unary("leaky_relu", 2, [](E x) { return max(x, x * constant(0.01, x)); }));
  t.add(of_integers_too(unary("abs", 1, [](E x) { return call(Intrinsic::kAbs, {x}); })));
  t.add(of_integers_too(unary("neg", 1, &negative)));
  t.add(of_integers_too(unary("square", 1, [](E x) { return x * x; })));
  t.add(unary("sqrt", 1, [](E x) { return call(Intrinsic::kSqrt, {x}); }));
  t.add(unary("rsqrt", 2, [](E x) { return constant(1, x) / call(Intrinsic::kSqrt, {x}); }));
  t.add(unary("reciprocal", 1, [](E x) { return constant(1, x) / x; }));
  t.add(unary("exp", 1, &exponential));
  t.add(unary("log", 1, [](E x) { return call(Intrinsic::kLog, {x}); }));
  t.add(unary("tanh", 1, [](E x) { return call(Intrinsic::kTanh, {x}); }));
  t.add(unary("erf", 1, [](E x) { return call(Intrinsic::kErf, {x}); }));
  t.add(unary("sigmoid", 4, &sigmoid));
  t.add(unary("silu", 5, [](E x) { return x * sigmoid(x); }));
  t.add(unary("gelu", 5, &gelu));
  t.add(of_numbers("hard_sigmoid", 4, {1.0 / 6, 0.5}, [](Args a) { return hard_sigmoid(a[0], a[1], a[2]); }));
  t.add(unary("hard_swish", 5, &hard_swish));
  t.add(binary("add", [](E x, E y) { return x + y; }));
  t.add(binary("sub", [](E x, E y) { return x - y; }));
  t.add(binary("mul", [](E x, E y) { return x * y; }));
  t.add(binary("div", &quotient));
  t.add(binary("max", [](E x, E y) { return max(x, y); }));
  t.add(binary("min", [](E x, E y) { return min(x, y); }));
  t.add(unary("gelu_tanh", 9, &gelu_tanh));
  t.add(unary("softplus", 5, &softplus));
  t.add(unary("mish", 7, &mish));
  t.add({"elu", {ArgumentKind::kNumber}, 5, false, [](Args a, DType) { return elu(a[0], a[1]); }});
  t.add({"clip", {ArgumentKind::kNumber, ArgumentKind::kNumber}, 2, true, [](Args a, DType) {
           return min(max(a[0], a[1]), a[2]);
         }});
  t.add(unary("round", 1, [](E x) { return call(Intrinsic::kRint, {x}); }));
  ScalarFunction cast{"cast", {}, 1, true, [](Args a, DType) { return a[0]; }, /*needs_result=*/true};
  cast.takes_bools = true;
  t.add(std::move(cast));
  t.add({"saturate", {}, 2, true, [](Args a, DType to) { return saturate(a[0], to); }, /*needs_result=*/true});
  add_arithmetic(&t);
  add_activations(&t);
  add_trigonometry(&t);
  add_logic(&t);
  add_bitwise(&t);
  add_minifloats(&t);
  return t;
}

}  // namespace hone
