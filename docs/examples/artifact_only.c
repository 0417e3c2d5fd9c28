/* A program that has an artifact in it and needs libc alone: no library of Hone's, nothing that is loaded.

   product.o and its companions are what tensorc made of "out = a b^T" for matrices of 64 x 64 floats (README.md). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

enum { kSize = 64 };

/* A row-major matrix. NAME_run takes any alignment that floats may have. */
static DLTensor matrix(float* data, int64_t shape[2]) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = 2;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

int main(void) {
  static float a[kSize * kSize], b[kSize * kSize], out[kSize * kSize];
  int64_t shape[2] = {kSize, kSize};
  int i, j, k;
  for (i = 0; i < kSize * kSize; ++i) {
    a[i] = (float)(i % 7 - 3);
    b[i] = (float)(i % 5 - 2);
  }

  /* Each call at the same time needs a workspace of its own; the artifact allocates nothing. */
  void* workspace = aligned_alloc(64, (PRODUCT_PLAIN_WORKSPACE_BYTES / 64 + 1) * 64);
  if (!workspace) return 1;
  /* Threads: as many as CPUs. Null instead of a pool would run all on this thread. */
  HoneRuntime* pool = product_pool(0);
  if (!pool) return perror("product_pool"), 1;

  const DLTensor ta = matrix(a, shape), tb = matrix(b, shape), tout = matrix(out, shape);
  const DLTensor* args[] = {&ta, &tb, &tout};
  const int32_t code = product_run(args, 3, workspace, pool);
  if (code != HONE_OK) return fprintf(stderr, "%s\n", product_error(code)), 1;

  /* The message of a wrong call. */
  printf("with two tensors: %s\n", product_error(product_run(args, 2, workspace, pool)));

  product_pool_free(pool);
  free(workspace);
  for (i = 0; i < kSize; ++i)
    for (j = 0; j < kSize; ++j) {
      float sum = 0;
      for (k = 0; k < kSize; ++k) sum += a[i * kSize + k] * b[j * kSize + k];
      if (sum != out[i * kSize + j]) return fprintf(stderr, "wrong at %d, %d\n", i, j), 1;
    }
  printf("%d x %d products are right\n", kSize, kSize);
  return 0;
}
