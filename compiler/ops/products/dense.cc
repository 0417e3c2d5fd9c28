// dense: C[m,n] = A[m,k] B[n,k].
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/prologue.h"

namespace hone {
namespace {

ProductShape dense_shape(const Attributes& a) {
  const ProductShape s{1, a.number("m"), a.number("n"), a.number("k"), /*batched=*/false};
  check_product_shape(s);
  return s;
}

std::vector<int64_t> dense_input_shape(const Attributes& a) {
  const ProductShape s = dense_shape(a);
  return {s.m, s.k};
}

AttributeTexts infer_dense(std::span<const TensorType> inputs) {
  const TensorType &a = input_of_rank(inputs, 0, "a", 2), &b = input_of_rank(inputs, 1, "b", 2);
  return {{"m", std::to_string(a.shape[0])},
          {"n", std::to_string(b.shape[0])},
          {"k", std::to_string(a.shape[1])},
          {"dtype", product_dtype_of(a.dtype, b.dtype)}};
}

}  // namespace

Operator dense_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "dense";
  op.summary = "C[m,n] = A[m,k] B[n,k], B constant";
  op.attributes = {
      {"m", "128", whole_number()},
      {"n", "768", whole_number()},
      {"k", "768", whole_number()},
      {"dtype", "f32", product_dtypes()},
      {"epilogue", "none",
       epilogue(functions, {[](const Attributes& a) { return output_shape(dense_shape(a)); }, 1, /*has_rows=*/true})},
      prologue_attribute(functions, {&dense_input_shape, 1}),
      extremes_attribute()};
  op.shape = [](const Attributes& a) { return std::any(dense_shape(a)); };
  op.infer = &infer_dense;
  op.define = &matrix_product;
  op.flops = &product_flops;
  return op;
}

}  // namespace hone
