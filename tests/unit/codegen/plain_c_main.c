/* Loads the artifact named on the command line (an 8x32x16 product) and compares what it computes. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "hone_runtime.h"

enum { M = 8, N = 32, K = 16 };

/* A runtime that runs two chunks one after the other; any division is right. */
static int32_t two_chunks(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t max_workers,
                          int64_t grain) {
  (void)grain;
  const int32_t code = body(0, iterations / 2, 0, closure);
  (void)self;
  return code || max_workers < 2 ? code : body(iterations / 2, iterations, 1, closure);
}

static DLTensor tensor(float* data, int64_t* shape) {
  DLTensor t = {0};
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = 2;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!library) return fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: main ARTIFACT"), 2;
  HoneEntry entry;
  *(void**)&entry = dlsym(library, "kernel");
  if (!entry) return fprintf(stderr, "no entry\n"), 2;
  float *a = aligned_alloc(64, M * K * 4), *b = aligned_alloc(64, K * N * 4), *c = aligned_alloc(64, M * N * 4);
  for (int i = 0; i < M * K; ++i) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < K * N; ++i) b[i] = (float)(i % 5 - 2);
  int64_t shape_a[] = {M, K}, shape_b[] = {K, N}, shape_c[] = {M, N};
  const DLTensor ta = tensor(a, shape_a), tb = tensor(b, shape_b), tc = tensor(c, shape_c);
  const DLTensor* args[] = {&ta, &tb, &tc};
  const HoneRuntime runtime = {HONE_RUNTIME_ABI, 2, NULL, &two_chunks, NULL};
  for (int with = 0; with < 2; ++with) {
    for (int i = 0; i < M * N; ++i) c[i] = -1e9f;
    if (entry(args, 3, NULL, with ? &runtime : NULL) != HONE_OK) return fprintf(stderr, "entry failed\n"), 1;
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < N; ++j) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += a[i * K + k] * b[k * N + j];
        if (sum != c[i * N + j])
          return fprintf(stderr, "wrong at %d,%d: %g, not %g\n", i, j, (double)c[i * N + j], (double)sum), 1;
      }
  }
  return 0;
}
