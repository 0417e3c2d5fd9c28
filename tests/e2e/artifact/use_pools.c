/* Two artifacts in one program (mma, mmb: products of 64x64 matrices), each with a pool, and each with the other's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mma.h"
#include "mmb.h"

enum { kSize = 64 };

static float* new_matrix(void) {
  void* data = NULL;
  return posix_memalign(&data, 64, kSize * kSize * sizeof(float)) == 0 ? (float*)data : NULL;
}

static DLTensor tensor(float* data, int64_t* shape) {
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

/* Whether `run` computes out = a b^T on this pool. */
static int is_right(HoneEntry run, void* workspace, const HoneRuntime* pool, float* a, float* b, float* out) {
  int64_t shape[2] = {kSize, kSize};
  DLTensor ta = tensor(a, shape), tb = tensor(b, shape), tout = tensor(out, shape);
  const DLTensor* args[3] = {&ta, &tb, &tout};
  int i, j, k;
  for (i = 0; i < kSize * kSize; ++i) out[i] = -1;
  if (run(args, 3, workspace, pool) != HONE_OK) return 0;
  for (i = 0; i < kSize; ++i)
    for (j = 0; j < kSize; ++j) {
      float sum = 0;
      for (k = 0; k < kSize; ++k) sum += a[i * kSize + k] * b[j * kSize + k];
      if (sum != out[i * kSize + j]) return 0;
    }
  return 1;
}

int main(void) {
  float *a = new_matrix(), *b = new_matrix(), *out = new_matrix();
  void *workspace_a = NULL, *workspace_b = NULL;
  HoneRuntime *pool_a = mma_pool(2), *pool_b = mmb_pool(3);
  int i, wrong = 0;
  if (!a || !b || !out || !pool_a || !pool_b || posix_memalign(&workspace_a, 64, MMA_PLAIN_WORKSPACE_BYTES + 1) ||
      posix_memalign(&workspace_b, 64, MMB_PLAIN_WORKSPACE_BYTES + 1))
    return fprintf(stderr, "no memory or no threads\n"), 2;
  for (i = 0; i < kSize * kSize; ++i) {
    a[i] = (float)(i % 7 - 3);
    b[i] = (float)(i % 5 - 2);
  }
  for (i = 0; i < 20; ++i)
    wrong |= !is_right(mma_run, workspace_a, pool_a, a, b, out) || !is_right(mma_run, workspace_a, pool_b, a, b, out) ||
             !is_right(mmb_run, workspace_b, pool_b, a, b, out) || !is_right(mmb_run, workspace_b, pool_a, a, b, out) ||
             !is_right(mmb_run, workspace_b, NULL, a, b, out);
  wrong |= pool_a->workers != 2 || pool_b->workers != 3;
  mma_pool_free(pool_a);
  mmb_pool_free(pool_b);
  free(workspace_a);
  free(workspace_b);
  free(a);
  free(b);
  free(out);
  printf(wrong ? "wrong\n" : "ok\n");
  return wrong;
}
