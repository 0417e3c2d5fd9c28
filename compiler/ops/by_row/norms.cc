// layer_norm, rms_norm and l2_norm: rows divided by their deviation, their root mean square, their length.
#include "compiler/ops/by_row/rows.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/prologue.h"

namespace hone {
namespace {

using Indices = std::vector<Expr>;

Expr mean_of(const Rows& r, const Expr& total) {
  return total * make_const(1.0 / static_cast<double>(r.shape.length), r.type);
}

// 1 / sqrt(total / n + eps)
Tensor inverse_root_mean(const Workload& w, const Rows& r, const Tensor& total) {
  return r.each_row("inverse", total, [&](const Expr& t) {
    return make_const(1, r.type) /
           call(Intrinsic::kSqrt, {mean_of(r, t) + make_const(w.attributes.get<double>("eps"), r.type)});
  });
}

// The mean first, then the squares of the differences: a difference of sums of squares would cancel.
Definition layer_norm(const Workload& w) {
  Rows r(w, {"scale", "bias"});
  const Tensor total = r.reduce("total", {r.x}, &sum, [&](const Indices& i) { return r.x_at(i); });
  const Tensor mean = r.each_row("mean", total, [&](const Expr& t) { return mean_of(r, t); });
  const Tensor apart = r.each("apart", {r.x, mean}, [&](const Indices& i) { return r.x_at(i) - r.of_row(mean, i); });
  const Tensor squares =
      r.reduce("squares", {apart}, &sum, [&](const Indices& i) { return apart.at(i) * apart.at(i); });
  const Tensor inverse = inverse_root_mean(w, r, squares);
  return r.finish(w, "layer_norm", {apart, inverse}, [&](const Indices& i) {
    Expr value = apart.at(i) * r.of_row(inverse, i);
    if (const Expr scale = r.constant_at(0, i)) value = value * scale;
    if (const Expr bias = r.constant_at(1, i)) value = value + bias;
    return value;
  });
}

Tensor squares_of(const Rows& r) {
  return r.reduce("squares", {r.x}, &sum, [&](const Indices& i) { return r.x_at(i) * r.x_at(i); });
}

Definition rms_norm(const Workload& w) {
  Rows r(w, {"scale"});
  const Tensor inverse = inverse_root_mean(w, r, squares_of(r));
  return r.finish(w, "rms_norm", {r.x, inverse}, [&](const Indices& i) {
    const Expr value = r.x_at(i) * r.of_row(inverse, i), scale = r.constant_at(0, i);
    return scale ? value * scale : value;
  });
}

Definition l2_norm(const Workload& w) {
  Rows r(w);
  const Tensor inverse = r.each_row("inverse", squares_of(r), [&](const Expr& t) {
    return make_const(1, r.type) /
           max(call(Intrinsic::kSqrt, {t}), make_const(w.attributes.get<double>("eps"), r.type));
  });
  return r.finish(w, "l2_norm", {r.x, inverse}, [&](const Indices& i) { return r.x_at(i) * r.of_row(inverse, i); });
}

// `to_last`: rows are all axes from `axis` on; `constants`: the constants that may scale and shift a row.
Operator norm(const FunctionTable& functions, const char* name, const char* summary, const char* eps, bool to_last,
              const std::vector<const char*>& constants, double operations, Definition (*define)(const Workload&)) {
  Operator op;
  op.name = name;
  op.summary = summary;
  op.attributes = {{"shape", "128x384", extents()}, {"axis", "-1", axis_of_shape()}, {"eps", eps, small_number()}};
  for (const char* c : constants) op.attributes.push_back({c, "1", flag()});
  op.attributes.push_back({"dtype", "f32", float_dtype()});
  op.attributes.push_back({"epilogue", "none", epilogue(functions, rows_source())});
  op.attributes.push_back(prologue_attribute(functions, rows_source()));
  op.attributes.push_back(extremes_attribute());
  op.shape = [to_last](const Attributes& a) { return std::any(rows_shape_of(a, to_last)); };
  op.infer = &infer_rows;
  op.define = define;
  op.flops = rows_flops(operations);
  return op;
}

}  // namespace

Operator layer_norm_operator(const FunctionTable& functions) {
  return norm(
      functions, "layer_norm",
      "(x - mean) / sqrt(variance + eps) * scale + bias over axes from `axis` to the last; scale=0, bias=0: none",
      "1e-05", true, {"scale", "bias"}, 8, &layer_norm);
}

Operator rms_norm_operator(const FunctionTable& functions) {
  return norm(functions, "rms_norm",
              "x / sqrt(mean of x^2 + eps) * scale over axes from `axis` to the last; scale=0: none", "1e-05", true,
              {"scale"}, 4, &rms_norm);
}

Operator l2_norm_operator(const FunctionTable& functions) {
  return norm(functions, "l2_norm", "x / max(sqrt(sum of x^2), eps) over an axis: axis=-1 (the last)", "1e-12", false,
              {}, 3, &l2_norm);
}

}  // namespace hone
