#include "compiler/ops/functions/function_rows.h"

namespace hone {

ScalarFunction unary(std::string name, int operations, Expr (*apply)(const Expr&)) {
  return {std::move(name), {}, operations, /*takes_integers=*/false, [=](Args a, DType) { return apply(a[0]); }};
}

ScalarFunction binary(std::string name, Expr (*apply)(const Expr&, const Expr&), int operations) {
  return {std::move(name), {ArgumentKind::kOperand}, operations, /*takes_integers=*/true, [=](Args a, DType) {
            return apply(a[0], a[1]);
          }};
}

ScalarFunction of_numbers(std::string name, int operations, std::vector<double> defaults, Expr (*apply)(Args)) {
  ScalarFunction f{std::move(name), {}, operations, /*takes_integers=*/false, [=](Args a, DType) { return apply(a); }};
  f.arguments.assign(defaults.size(), ArgumentKind::kNumber);
  f.defaults = std::move(defaults);
  return f;
}

ScalarFunction of_integers_too(ScalarFunction f) {
  f.takes_integers = true;
  return f;
}

ScalarFunction of_floats(ScalarFunction f) {
  f.takes_integers = false;
  return f;
}

}  // namespace hone
