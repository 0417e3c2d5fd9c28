// softmax and log_softmax: exponentials over one axis, as shares of their sum.
#include "compiler/ops/by_row/rows.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/prologue.h"

namespace hone {
namespace {

using Indices = std::vector<Expr>;

// The largest element is taken off first: no exponential overflows, and one of them is 1.
Definition softmax(const Workload& w) {
  Rows r(w);
  const Tensor most = r.reduce("most", {r.x}, &max_over, [&](const Indices& i) { return r.x_at(i); });
  const Tensor e = r.each("exp", {r.x, most},
                          [&](const Indices& i) { return call(Intrinsic::kExp, {r.x_at(i) - r.of_row(most, i)}); });
  const Tensor total = r.reduce("total", {e}, &sum, [&](const Indices& i) { return e.at(i); });
  // One division a row, not one an element.
  const Tensor inverse = r.each_row("inverse", total, [&](const Expr& t) { return make_const(1, r.type) / t; });
  return r.finish(w, "softmax", {e, inverse}, [&](const Indices& i) { return e.at(i) * r.of_row(inverse, i); });
}

// log(softmax(x)) without the exponential's small numbers: (x - most) - log(sum of exp(x - most)).
Definition log_softmax(const Workload& w) {
  Rows r(w);
  const Tensor most = r.reduce("most", {r.x}, &max_over, [&](const Indices& i) { return r.x_at(i); });
  const Tensor below = r.each("below", {r.x, most}, [&](const Indices& i) { return r.x_at(i) - r.of_row(most, i); });
  const Tensor total =
      r.reduce("total", {below}, &sum, [&](const Indices& i) { return call(Intrinsic::kExp, {below.at(i)}); });
  const Tensor log = r.each_row("log", total, [&](const Expr& t) { return call(Intrinsic::kLog, {t}); });
  return r.finish(w, "log_softmax", {below, log}, [&](const Indices& i) { return below.at(i) - r.of_row(log, i); });
}

Operator of_exponentials(const FunctionTable& functions, const char* name, const char* summary, double operations,
                         Definition (*define)(const Workload&)) {
  Operator op;
  op.name = name;
  op.summary = summary;
  op.attributes = {{"shape", "12x128x128", extents()},
                   {"axis", "-1", axis_of_shape()},
                   {"dtype", "f32", float_dtype()},
                   {"epilogue", "none", epilogue(functions, rows_source())},
                   prologue_attribute(functions, rows_source())};
  op.shape = [](const Attributes& a) { return std::any(rows_shape_of(a, false)); };
  op.infer = &infer_rows;
  op.define = define;
  op.flops = rows_flops(operations);
  return op;
}

}  // namespace

Operator softmax_operator(const FunctionTable& functions) {
  return of_exponentials(functions, "softmax", "exp(x) / sum of exp(x) over an axis: axis=-1 (the last)", 5, &softmax);
}

Operator log_softmax_operator(const FunctionTable& functions) {
  return of_exponentials(functions, "log_softmax", "x - log(sum of exp(x)) over an axis: axis=-1 (the last)", 5,
                         &log_softmax);
}

}  // namespace hone
