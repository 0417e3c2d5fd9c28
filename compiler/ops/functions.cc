#include "compiler/ops/functions.h"

namespace hone {
namespace {

Expr constant(double v, const Expr& like) { return make_const(v, like->dtype); }
Expr negative(const Expr& x) { return constant(-0.0, x) - x; }
Expr sigmoid(const Expr& x) { return constant(1, x) / (constant(1, x) + call(Intrinsic::kExp, {negative(x)})); }
Expr hard_sigmoid(const Expr& x) {
  return max(min(x * constant(1.0 / 6, x) + constant(0.5, x), constant(1, x)), constant(0, x));
}
Expr gelu(const Expr& x) {
  constexpr double kHalfRoot = 0.70710678118654752;
  return x * constant(0.5, x) * (constant(1, x) + call(Intrinsic::kErf, {x * constant(kHalfRoot, x)}));
}

}  // namespace

const std::vector<ElementwiseFunction>& elementwise_functions() {
  static const std::vector<ElementwiseFunction> kFunctions = {
      {"relu", false, 1, [](const Expr& x, const Expr&) { return max(x, constant(0, x)); }},
      {"relu6", false, 2, [](const Expr& x, const Expr&) { return min(max(x, constant(0, x)), constant(6, x)); }},
      {"leaky_relu", false, 2, [](const Expr& x, const Expr&) { return max(x, x * constant(0.01, x)); }},
      {"abs", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kAbs, {x}); }},
      {"neg", false, 1, [](const Expr& x, const Expr&) { return negative(x); }},
      {"square", false, 1, [](const Expr& x, const Expr&) { return x * x; }},
      {"sqrt", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kSqrt, {x}); }},
      {"rsqrt", false, 2, [](const Expr& x, const Expr&) { return constant(1, x) / call(Intrinsic::kSqrt, {x}); }},
      {"reciprocal", false, 1, [](const Expr& x, const Expr&) { return constant(1, x) / x; }},
      {"exp", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kExp, {x}); }},
      {"log", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kLog, {x}); }},
      {"tanh", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kTanh, {x}); }},
      {"erf", false, 1, [](const Expr& x, const Expr&) { return call(Intrinsic::kErf, {x}); }},
      {"sigmoid", false, 4, [](const Expr& x, const Expr&) { return sigmoid(x); }},
      {"silu", false, 5, [](const Expr& x, const Expr&) { return x * sigmoid(x); }},
      {"gelu", false, 5, [](const Expr& x, const Expr&) { return gelu(x); }},
      {"hard_sigmoid", false, 4, [](const Expr& x, const Expr&) { return hard_sigmoid(x); }},
      {"hard_swish", false, 5, [](const Expr& x, const Expr&) { return x * hard_sigmoid(x); }},
      {"add", true, 1, [](const Expr& x, const Expr& y) { return x + y; }},
      {"sub", true, 1, [](const Expr& x, const Expr& y) { return x - y; }},
      {"mul", true, 1, [](const Expr& x, const Expr& y) { return x * y; }},
      {"div", true, 1, [](const Expr& x, const Expr& y) { return x / y; }},
      {"max", true, 1, [](const Expr& x, const Expr& y) { return max(x, y); }},
      {"min", true, 1, [](const Expr& x, const Expr& y) { return min(x, y); }},
  };
  return kFunctions;
}

}  // namespace hone
