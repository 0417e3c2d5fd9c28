// The functions after the first ones keep NaNs: they choose by comparisons, which are false for them.
#include "compiler/ops/functions/function_rows.h"

namespace hone {
namespace {

using E = const Expr&;

Expr if_negative(E x, E then, E otherwise) { return select(lt(x, constant(0, x)), then, otherwise); }
Expr leaky(E x, E slope) { return if_negative(x, x * slope, x); }
Expr exp_less_one(E x) { return exponential(x) - constant(1, x); }

}  // namespace

void add_activations(FunctionTable* t) {
  t->add({"leaky", {ArgumentKind::kNumber}, 2, false, [](Args a, DType) { return leaky(a[0], a[1]); }});
  t->add(binary("prelu", &leaky, 2));
  t->add(of_numbers("selu", 6, {1.67326319217681884765625, 1.05070102214813232421875},
                    [](Args a) { return a[2] * if_negative(a[0], a[1] * exp_less_one(a[0]), a[0]); }));
  t->add(of_numbers("celu", 6, {1}, [](Args a) { return if_negative(a[0], a[1] * exp_less_one(a[0] / a[1]), a[0]); }));
  t->add(
      of_numbers("thresholded_relu", 2, {1}, [](Args a) { return select(lt(a[1], a[0]), a[0], constant(0, a[0])); }));
  t->add(unary("softsign", 3, [](E x) { return x / (constant(1, x) + absolute(x)); }));
  t->add(of_numbers("shrink", 4, {0.5, 0}, [](Args a) {
    E x = a[0], limit = a[1], bias = a[2];
    const Expr zero = constant(0, x);
    return select(lt(x, zero - limit), x + bias, select(lt(limit, x), x - bias, zero));
  }));
}

}  // namespace hone
