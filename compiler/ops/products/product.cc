#include "compiler/ops/products/product.h"

#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/products/runs.h"
#include "compiler/ops/prologue.h"

namespace hone {

const ProductShape& product_shape(const Workload& w) { return w.shape_as<ProductShape>(); }

std::vector<int64_t> output_shape(const ProductShape& s) {
  return s.batched ? std::vector<int64_t>{s.b, s.m, s.n} : std::vector<int64_t>{s.m, s.n};
}

void check_product_shape(const ProductShape& s) {
  element_count({s.b, s.m, s.n});
  element_count({s.b, s.m, s.k});
  element_count({s.b, s.n, s.k});
}

Definition matrix_product(const Workload& w) { return split_matrix_product(w, 1); }

namespace {

// `along_k`: as product_along_k() says.
Definition product_of(const Workload& w, int64_t parts, bool along_k) {
  const ProductShape& s = product_shape(w);
  const int64_t b = s.b, m = s.m, n = s.n, k = s.k;
  const bool batched = s.batched;
  const DTypes types = dtypes_of(w);
  HONE_ICHECK(k % parts == 0) << parts << " parts of k=" << k;
  std::vector<std::string> axes{"m", "n"};
  const std::vector<int64_t> shape = output_shape(s);
  Tensor lhs = placeholder("a", {m, k}, types.in), rhs = placeholder("b", {n, k}, types.weight);
  if (batched) {
    axes.insert(axes.begin(), "b");
    lhs = placeholder("a", {b, m, k}, types.in), rhs = placeholder("b", {b, k, n}, types.weight);
  }
  Definition d;
  d.inputs = {{lhs, ParamRole::kInput}, {rhs, batched ? ParamRole::kInput : ParamRole::kConstant}};
  lhs = through_prologue(w, lhs, axes.size() - 1, &d);
  const bool has_columns = along_k && batched && n > 1;
  if (has_columns)
    rhs = compute("columns", {b, n, k}, {"b", "n", "k"}, {rhs},
                  [from = rhs](const std::vector<Expr>& i) { return from(i[0], i[2], i[1]); });
  // `i` is the index of an element of the product.
  const auto term = [&](const Expr* i, const Expr& r) {
    const Expr x = batched ? lhs(i[0], i[1], r) : lhs(i[0], r), y = has_columns ? rhs(i[0], i[2], r)
                                                                    : batched   ? rhs(i[0], r, i[2])
                                                                                : rhs(i[1], r);
    return cast(type_of_products(w), x) * cast(type_of_products(w), y);
  };
  const Runs runs = types.f16_runs ? runs_of(k) : Runs{parts, k / parts};
  Tensor product;
  if (runs.count == 1) {
    product = compute_reduce("matmul", shape, axes, {lhs, rhs}, [&](const std::vector<Expr>& i) {
      const Axis r = reduce_axis("k", k);
      return sum(term(i.data(), r), {r});
    });
  } else {
    std::vector<int64_t> part_shape = shape;
    std::vector<std::string> part_axes = axes;
    const std::string one = types.f16_runs ? "run" : "part";
    part_shape.insert(part_shape.begin(), runs.count);
    part_axes.insert(part_axes.begin(), one);
    const auto partial_sum = [&](const std::vector<Expr>& i) {
      const Axis r = reduce_axis("k", runs.length);
      const Expr at = i[0] * runs.length + r, value = term(i.data() + 1, at);
      return sum(runs.count * runs.length == k ? value : select(lt(at, k), value, make_const(0, value->dtype)), {r});
    };
    const Tensor partial = compute_reduce(one + "s", part_shape, part_axes, {lhs, rhs}, partial_sum);
    product = compute_reduce("matmul", shape, axes, {partial}, [&](const std::vector<Expr>& i) {
      const Axis part = reduce_axis(one, runs.count);
      std::vector<Expr> at{part};
      at.insert(at.end(), i.begin(), i.end());
      return sum(cast(types.accumulate, partial.at(at)), {part});
    });
  }
  if (product->buffer->dtype != types.accumulate) product = widened(types.accumulate, axes, product, &d);
  d.outputs = {product};
  d.factor_error = types.factor_error();
  add_epilogue(w, axes.size() - 1, axes, &d);
  return d;
}

}  // namespace

Definition split_matrix_product(const Workload& w, int64_t parts) { return product_of(w, parts, false); }

Definition product_along_k(const Workload& w) { return product_of(w, 1, true); }

double product_flops(const Workload& w) {
  const ProductShape& s = product_shape(w);
  return 2.0 * static_cast<double>(s.b) * static_cast<double>(s.m) * static_cast<double>(s.n) *
         static_cast<double>(s.k);
}

}  // namespace hone
