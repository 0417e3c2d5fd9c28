// Products of matrices: dense and batch_matmul.
#pragma once

#include "compiler/ops/definition.h"

namespace hone {

/// C[b,m,n] = A[b,m,k] B; dense is one matrix (`batched` false, b = 1) whose B is [n,k], batch_matmul's is [b,k,n].
struct ProductShape {
  int64_t b = 1, m = 0, n = 0, k = 0;
  bool batched = false;
};
const ProductShape& product_shape(const Workload& w);

/// m, n of the output, behind b where there are several matrices.
std::vector<int64_t> output_shape(const ProductShape& s);

/// UserError where a tensor has more elements than any may have.
void check_product_shape(const ProductShape& s);

/// dense: a (input) [m,k], b (constant) [n,k]; batch_matmul: a, b (inputs) [b,m,k], [b,k,n]; then the epilogue's: bias
/// (constant) [n], residual (input), shaped like the output. Stages `matmul`, and `out` when there is an epilogue.
/// Where sums are runs in f16 (DTypes): a stage `runs` [run, then as `matmul`] sums each, `matmul` the runs; of one
/// run, `matmul` is that in f16, and a stage `sum` widens it.
Definition matrix_product(const Workload& w);

/// The same with k cut into `parts` (which divide it): stage `parts` [part, then as `matmul`] sums k / parts products
/// each, `matmul` sums the parts. One part is matrix_product(), and so are sums of runs.
Definition split_matrix_product(const Workload& w, int64_t parts);

/// The same where B is read along k: of batch_matmul with several columns from a stage `columns` [b,n,k], which is to
/// be kept.
Definition product_along_k(const Workload& w);

/// Operations of a product.
double product_flops(const Workload& w);

}  // namespace hone
