/* Opens any artifact by its path, says what it takes and gives, fills its inputs with ones, runs it and prints the
   first elements of each output and the slowest layers: libhone_runtime (hone.h). */
#include <hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_type(const char* what, const HoneParam* p) {
  int32_t d;
  printf("%s %s: code %d, %d bits, [", what, p->name, p->plain.dtype.code, p->plain.dtype.bits);
  for (d = 0; d < p->plain.ndim; ++d) printf("%s%lld", d > 0 ? ", " : "", (long long)p->plain.shape[d]);
  printf("]\n");
}

static size_t element_count(const HoneTensorType* type) {
  size_t n = 1;
  int32_t d;
  for (d = 0; d < type->ndim; ++d) n *= (size_t)type->shape[d];
  return n;
}

/* A tensor of this type; floats are ones, else all is zero. Its data is the caller's to free; null: no memory. */
static DLTensor new_tensor(const HoneTensorType* type) {
  const size_t n = element_count(type);
  size_t i;
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.data = calloc(n + 1, (type->dtype.bits + 7u) / 8);
  t.device.device_type = kDLCPU;
  t.ndim = type->ndim;
  t.dtype = type->dtype;
  t.shape = (int64_t*)type->shape; /* only read */
  for (i = 0; t.data && type->dtype.code == kDLFloat && type->dtype.bits == 32 && i < n; ++i) ((float*)t.data)[i] = 1;
  return t;
}

static int fail(void) {
  fprintf(stderr, "%s\n", hone_last_error());
  return 1;
}

/* The three slowest of these layers. */
static void print_slowest(const HoneModel* model, double* seconds, int32_t count) {
  int32_t turn, i;
  for (turn = 0; turn < 3 && turn < count; ++turn) {
    int32_t slowest = 0;
    for (i = 1; i < count; ++i)
      if (seconds[i] > seconds[slowest]) slowest = i;
    printf("%8.4f ms  %s  %s\n", seconds[slowest] * 1e3, hone_layer(model, slowest)->name,
           hone_layer(model, slowest)->workload);
    seconds[slowest] = -1;
  }
}

enum { kMost = 16 };

int main(int argc, char** argv) {
  HoneModel* model;
  HoneRuntime* pool;
  DLTensor tensors[2 * kMost];
  const DLTensor *inputs[kMost], *outputs[kMost];
  double* seconds;
  int32_t i, k;
  if (argc != 2) return fprintf(stderr, "usage: with_runtime ARTIFACT.so\n"), 2;

  if (hone_open(argv[1], &model) != HONE_OK) return fail();
  const int32_t in = hone_input_count(model), out = hone_output_count(model);
  if (in > kMost || out > kMost) return 2;
  for (i = 0; i < in; ++i) print_type("input ", hone_input(model, i));
  for (i = 0; i < out; ++i) print_type("output", hone_output(model, i));

  for (i = 0; i < in; ++i) {
    tensors[i] = new_tensor(&hone_input(model, i)->plain);
    inputs[i] = &tensors[i];
  }
  for (i = 0; i < out; ++i) {
    tensors[in + i] = new_tensor(&hone_output(model, i)->plain);
    outputs[i] = &tensors[in + i];
  }

  pool = hone_pool_new(0); /* as many threads as CPUs; null would be one */
  if (!pool) return fail();
  if (hone_run(model, inputs, in, outputs, out, pool) != HONE_OK) return fail();

  for (i = 0; i < out; ++i) {
    const HoneParam* p = hone_output(model, i);
    if (p->plain.dtype.code != kDLFloat || p->plain.dtype.bits != 32) continue;
    printf("%s =", p->name);
    for (k = 0; k < 4 && (size_t)k < element_count(&p->plain); ++k)
      printf(" %g", (double)((const float*)outputs[i]->data)[k]);
    printf("\n");
  }

  const int32_t layers = hone_layer_count(model);
  seconds = (double*)calloc((size_t)layers, sizeof *seconds);
  if (hone_run_timed(model, inputs, in, outputs, out, pool, seconds, layers) != HONE_OK) return fail();
  print_slowest(model, seconds, layers);

  free(seconds);
  for (i = 0; i < in + out; ++i) free(tensors[i].data);
  hone_pool_free(pool);
  hone_close(model);
  return 0;
}
