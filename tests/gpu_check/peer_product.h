// dense and batch_matmul as cuBLAS, whose matrices are column by column, is asked for them.
#pragma once

#include <cstdint>

#include "compiler/ops/workload.h"

namespace hone::gpu_check {

/// C = op(A) op(B), of `count` pairs `stride_*` elements apart: cublasGemmStridedBatchedEx's parameters. `a` is the
/// workload's second input and `b` its first: the transposed product of tensors that lie row by row.
struct GemmCall {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 1, n = 1, k = 1, lda = 1, ldb = 1, ldc = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0, count = 1;
};

GemmCall gemm_call(const Workload& w);

}  // namespace hone::gpu_check
