/* A plain C host of an artifact: conv2d(ci=8,h=6,w=5,co=12,kh=3,kw=3,pad=1) in NCHW<ib>c -> NCHW<ob>c and through
   NAME_plain. call_conv ARTIFACT.so NAME IN_BLOCK OUT_BLOCK PACKED_WEIGHT_ELEMENTS WORKSPACE PLAIN_WORKSPACE; exits 0
   when both results are right. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hone_runtime.h"

enum { CI = 8, H = 6, W = 5, CO = 12, K = 3 };

static void* allocated[16];
static int allocations;
static void free_all(void) {
  while (allocations > 0) free(allocated[--allocations]);
}

static void* aligned(size_t bytes) {
  void* p = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (allocations == 0) atexit(free_all);
  allocated[allocations++] = p;
  memset(p, 0, (bytes + 127) / 64 * 64);
  return p;
}

static DLTensor tensor(float* data, int64_t* shape) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = 1;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = shape;
  return t;
}

/* Runs everything on this thread, as a host without a pool does by hand. */
static int calls = 0;
static int32_t serial_for(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t max_workers,
                          int64_t grain) {
  (void)self;
  (void)max_workers;
  (void)grain;
  ++calls;
  return body(0, iterations, 0, closure);
}

static int check(const char* what, const float* got, const float* expected, int n) {
  for (int i = 0; i < n; ++i)
    if (!(fabsf(got[i] - expected[i]) <= 1e-4f)) {
      printf("%s: element %d is %g, not %g\n", what, i, got[i], expected[i]);
      return 1;
    }
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 8) return 2;
  const char* name = argv[2];
  const int ib = atoi(argv[3]), ob = atoi(argv[4]), packed_elements = atoi(argv[5]);
  void* so = dlopen(argv[1], RTLD_NOW);
  if (!so) {
    puts(dlerror());
    return 2;
  }
  char symbol[256];
  HoneEntry entry, plain, prepack;
  *(void**)&entry = dlsym(so, name);
  snprintf(symbol, sizeof symbol, "%s_plain", name);
  *(void**)&plain = dlsym(so, symbol);
  snprintf(symbol, sizeof symbol, "%s_prepack0", name);
  *(void**)&prepack = dlsym(so, symbol);
  snprintf(symbol, sizeof symbol, "%s_json", name);
  const char* json = (const char*)dlsym(so, symbol);
  if (!entry || !plain || !prepack || !json || !strstr(json, "\"workload\"")) {
    puts("an entry is missing");
    return 2;
  }

  float *x = aligned(CI * H * W * 4), *w = aligned(CO * CI * K * K * 4), *expected = aligned(CO * H * W * 4);
  srand(1);
  for (int i = 0; i < CI * H * W; ++i) x[i] = (float)(rand() % 200 - 100) / 100;
  for (int i = 0; i < CO * CI * K * K; ++i) w[i] = (float)(rand() % 200 - 100) / 100;
  for (int o = 0; o < CO; ++o)
    for (int y = 0; y < H; ++y)
      for (int z = 0; z < W; ++z) {
        double sum = 0;
        for (int c = 0; c < CI; ++c)
          for (int i = 0; i < K; ++i)
            for (int j = 0; j < K; ++j) {
              const int yy = y + i - 1, zz = z + j - 1;
              if (yy >= 0 && yy < H && zz >= 0 && zz < W)
                sum += (double)x[(c * H + yy) * W + zz] * w[((o * CI + c) * K + i) * K + j];
            }
        expected[(o * H + y) * W + z] = (float)sum;
      }

  HoneRuntime rt = {HONE_RUNTIME_ABI, 2, NULL, &serial_for, NULL};
  int64_t n = 1;
  int wrong = 0;

  float* out = aligned(CO * H * W * 4);
  memset(out, 0xff, CO * H * W * 4);
  DLTensor tx = tensor(x, &n), tw = tensor(w, &n), to = tensor(out, &n);
  const DLTensor* plain_args[] = {&tx, &tw, &to};
  void* workspace = aligned((size_t)atoll(argv[7]));
  int32_t code = plain(plain_args, 3, workspace, &rt);
  if (code != HONE_OK) printf("plain returned %d\n", (int)code), wrong = 1;
  wrong |= check("plain", out, expected, CO * H * W);

  const int ib_count = (CI + ib - 1) / ib, ob_count = (CO + ob - 1) / ob;
  float *px = aligned((size_t)(ib_count * ib * H * W) * 4), *pw = aligned((size_t)packed_elements * 4),
        *po = aligned((size_t)(ob_count * ob * H * W) * 4);
  for (int c = 0; c < CI; ++c)
    for (int i = 0; i < H * W; ++i) px[((c / ib) * H * W + i) * ib + c % ib] = x[c * H * W + i];
  DLTensor tpx = tensor(px, &n), tpw = tensor(pw, &n), tpo = tensor(po, &n);
  const DLTensor* prepack_args[] = {&tw, &tpw};
  const DLTensor* args[] = {&tpx, &tpw, &tpo};
  workspace = aligned((size_t)atoll(argv[6]));
  code = prepack(prepack_args, 2, NULL, &rt);
  if (code != HONE_OK) printf("prepack returned %d\n", (int)code), wrong = 1;
  code = entry(args, 3, workspace, &rt);
  if (code != HONE_OK) printf("the entry returned %d\n", (int)code), wrong = 1;
  for (int o = 0; o < CO; ++o)
    for (int i = 0; i < H * W; ++i) out[o * H * W + i] = po[((o / ob) * H * W + i) * ob + o % ob];
  wrong |= check("packed", out, expected, CO * H * W);
  if (entry(args, 2, workspace, &rt) != HONE_BAD_ARGUMENTS) puts("two tensors were accepted"), wrong = 1;
  if (calls == 0) puts("the runtime was never asked"), wrong = 1;
  if (!wrong) puts("ok");
  return wrong;
}
