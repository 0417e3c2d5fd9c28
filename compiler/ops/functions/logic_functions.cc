#include <limits>

#include "compiler/ops/functions/function_rows.h"

namespace hone {
namespace {

using E = const Expr&;

ScalarFunction of_bools(ScalarFunction f) {
  f.takes_bools = true;
  return f;
}
ScalarFunction giving_bool(ScalarFunction f) {
  f.gives_bool = true;
  return f;
}
ScalarFunction of_only_bools(ScalarFunction f) {
  f.takes_floats = f.takes_integers = false;
  return of_bools(std::move(f));
}

Expr not_equal(E x, E y) { return x->dtype.is_bool() ? differ(x, y) : ne(x, y); }
Expr equal(E x, E y) { return x->dtype.is_bool() ? logical_not(differ(x, y)) : eq(x, y); }

}  // namespace

void add_logic(FunctionTable* t) {
  t->add(of_bools(giving_bool(hone::binary("equal", &equal))));
  t->add(of_bools(giving_bool(hone::binary("not_equal", &not_equal))));
  t->add(giving_bool(hone::binary("less", [](E x, E y) { return lt(x, y); })));
  t->add(giving_bool(hone::binary("less_equal", [](E x, E y) { return le(x, y); })));
  t->add(giving_bool(hone::binary("greater", [](E x, E y) { return lt(y, x); })));
  t->add(giving_bool(hone::binary("greater_equal", [](E x, E y) { return le(y, x); })));
  t->add(giving_bool(unary("is_nan", 1, [](E x) { return ne(x, x); })));
  t->add(giving_bool(
      unary("is_inf", 2, [](E x) { return eq(absolute(x), constant(std::numeric_limits<double>::infinity(), x)); })));
  t->add(of_only_bools(hone::binary("and", [](E x, E y) { return logical_and(x, y); })));
  t->add(of_only_bools(hone::binary("or", [](E x, E y) { return logical_or(x, y); })));
  t->add(of_only_bools(hone::binary("xor", &differ)));
  t->add(of_only_bools(unary("not", 1, [](E x) { return logical_not(x); })));
  t->add(of_bools({"where", {ArgumentKind::kCondition, ArgumentKind::kOperand}, 1, true, [](Args a, DType) {
                     return select(a[1], a[0], a[2]);
                   }}));
}

}  // namespace hone
