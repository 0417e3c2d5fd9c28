/* A program with a model in it, which hone_add_model built with the program's other files (CMakeLists.txt): x [4, 16]
   to y [4, 8]. It links none of Hone's libraries. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlp.h"

static DLTensor floats(float* data, int64_t shape[2]) {
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
  static float x[4 * 16], y[4 * 8];
  int64_t x_shape[2] = {4, 16}, y_shape[2] = {4, 8};
  int i;
  for (i = 0; i < 4 * 16; ++i) x[i] = 1;
  void* arena = aligned_alloc(64, (MLP_ARENA_BYTES / 64 + 1) * 64);
  if (!arena) return 1;
  HoneRuntime* pool = mlp_pool(2);
  if (!pool) return perror("mlp_pool"), 1;
  const DLTensor tx = floats(x, x_shape), ty = floats(y, y_shape);
  const DLTensor* tensors[MLP_TENSORS] = {&tx, &ty};
  const int32_t code = mlp_run(tensors, MLP_TENSORS, arena, pool);
  if (code != HONE_OK) return fprintf(stderr, "%s\n", mlp_error(code)), 1;
  for (i = 0; i < 8; ++i) printf("%g ", y[i]);
  printf("\n");
  mlp_pool_free(pool);
  free(arena);
  return 0;
}
