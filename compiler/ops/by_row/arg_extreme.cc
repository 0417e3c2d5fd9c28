// argmax and argmin: where in a row its largest or smallest element is.
#include "compiler/ops/by_row/rows.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/prologue.h"

namespace hone {
namespace {

using Indices = std::vector<Expr>;

// Two reductions over the same rows. Where a NaN is in a row, it is the row's extreme, with which nothing compares: its
// position is the NaN's, as numpy has it.
Definition arg_extreme(const Workload& w, bool is_max) {
  Rows r(w);
  const size_t axis = r.shape.axes[0];
  const bool last = w.attributes.get<bool>("last");
  const Tensor extreme = r.reduce(is_max ? "most" : "least", {r.x}, is_max ? &max_over : &min_over,
                                  [&](const Indices& i) { return r.x_at(i); });
  // In 32 bits where those do: as many positions as elements of f32 in a vector.
  const DType number = r.shape.length < INT32_MAX ? i32 : i64;
  const Expr none = make_const(last ? -1 : static_cast<double>(r.shape.length), number);
  const Tensor position = r.reduce("place", {r.x, extreme}, last ? &max_over : &min_over, [&](const Indices& i) {
    const Expr x = r.x_at(i), best = r.of_row(extreme, i);
    const Expr is_best = is_max ? le(best, x) : le(x, best);
    const Expr is_found = x->dtype.is_float() ? logical_or(is_best, ne(x, x)) : is_best;
    return select(is_found, cast(number, i[axis]), none);
  });
  const bool keeps = w.attributes.get<bool>("keepdims");
  std::vector<int64_t> shape = r.shape.per_row;
  if (!keeps && shape.size() > 1) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  r.definition.outputs = {compute("out", shape, axis_names(shape.size()), {position}, [&](Indices i) {
    if (i.size() < r.shape.shape.size()) i.insert(i.begin() + static_cast<std::ptrdiff_t>(axis), make_int(0));
    return cast(i64, position.at(i));
  })};
  return std::move(r.definition);
}

Definition argmax(const Workload& w) { return arg_extreme(w, true); }
Definition argmin(const Workload& w) { return arg_extreme(w, false); }

Operator arg_operator(const FunctionTable& functions, const char* name, const char* summary,
                      Definition (*define)(const Workload&)) {
  Operator op;
  op.name = name;
  op.summary = summary;
  op.attributes = {{"shape", "128x1000", extents()}, {"axis", "-1", axis_of_shape()},
                   {"keepdims", "0", flag()},        {"last", "0", flag()},
                   {"dtype", "f32", number_dtype()}, prologue_attribute(functions, rows_source())};
  op.shape = [](const Attributes& a) { return std::any(rows_shape_of(a, false)); };
  op.infer = &infer_rows;
  op.define = define;
  op.flops = rows_flops(2);
  return op;
}

}  // namespace

Operator argmax_operator(const FunctionTable& functions) {
  return arg_operator(
      functions, "argmax",
      "place (s64) of the largest element along an axis: axis=-1 (the last); of equal ones the first, or "
      "with last=1 the last",
      &argmax);
}

Operator argmin_operator(const FunctionTable& functions) {
  return arg_operator(functions, "argmin",
                      "place (s64) of the smallest element along an axis: axis=-1 (the last); of equal ones the first, "
                      "or with last=1 the last",
                      &argmin);
}

}  // namespace hone
