// batch_matmul: C[b,m,n] = A[b,m,k] B[b,k,n].
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/products/product.h"
#include "compiler/ops/prologue.h"

namespace hone {
namespace {

ProductShape batch_matmul_shape(const Attributes& a) {
  const ProductShape s{a.number("b"), a.number("m"), a.number("n"), a.number("k"), /*batched=*/true};
  check_product_shape(s);
  return s;
}

std::vector<int64_t> batch_matmul_input_shape(const Attributes& a) {
  const ProductShape s = batch_matmul_shape(a);
  return {s.b, s.m, s.k};
}

AttributeTexts infer_batch_matmul(std::span<const TensorType> inputs) {
  const TensorType &a = input_of_rank(inputs, 0, "a", 3), &b = input_of_rank(inputs, 1, "b", 3);
  return {{"b", std::to_string(a.shape[0])},
          {"m", std::to_string(a.shape[1])},
          {"n", std::to_string(b.shape[2])},
          {"k", std::to_string(a.shape[2])},
          {"dtype", product_dtype_of(a.dtype, b.dtype)}};
}

}  // namespace

Operator batch_matmul_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "batch_matmul";
  op.summary = "C[b,m,n] = A[b,m,k] B[b,k,n]";
  op.attributes = {{"b", "12", whole_number()},
                   {"m", "128", whole_number()},
                   {"n", "128", whole_number()},
                   {"k", "64", whole_number()},
                   {"dtype", "f32", product_dtypes()},
                   {"epilogue", "none",
                    epilogue(functions, {[](const Attributes& a) { return output_shape(batch_matmul_shape(a)); }, 2,
                                         /*has_rows=*/true})},
                   prologue_attribute(functions, {&batch_matmul_input_shape, 2}),
                   extremes_attribute()};
  op.shape = [](const Attributes& a) { return std::any(batch_matmul_shape(a)); };
  op.infer = &infer_batch_matmul;
  op.define = &matrix_product;
  op.flops = &product_flops;
  return op;
}

}  // namespace hone
