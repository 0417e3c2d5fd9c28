#include "tests/gpu_check/peer_product.h"

namespace hone::gpu_check {

GemmCall gemm_call(const Workload& w) {
  const int64_t m = w.attributes.number("m"), n = w.attributes.number("n"), k = w.attributes.number("k");
  GemmCall c{.m = n, .n = m, .k = k, .ldb = k, .ldc = n};
  if (w.operator_name() == "batch_matmul") {
    c.lda = n;
    c.stride_a = k * n, c.stride_b = m * k, c.stride_c = m * n, c.count = w.attributes.number("b");
  } else {  // the second input is [n, k]
    c.lda = k;
    c.transpose_a = true;
  }
  return c;
}

}  // namespace hone::gpu_check
