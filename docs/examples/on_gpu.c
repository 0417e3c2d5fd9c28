/* Runs an artifact for a GPU on tensors that stay there: libhone_gpu (hone_gpu.h). Fills the inputs with ones on the
   device, calls twice without a wait in between, and prints the first elements of each output.

   Where tensors on the CPU will do, with_runtime.c runs such an artifact as it runs all others. */
#include <hone_gpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t element_count(const HoneTensorType* type) {
  size_t n = 1;
  int32_t d;
  for (d = 0; d < type->ndim; ++d) n *= (size_t)type->shape[d];
  return n;
}

static int64_t byte_count(const HoneTensorType* type) {
  return (int64_t)(element_count(type) * ((type->dtype.bits + 7u) / 8));
}

/* A tensor of this type on the device; floats are ones, else all is zero. Its data is null where that fails. */
static DLTensor new_tensor(HoneGpuDevice* gpu, const HoneTensorType* type) {
  const size_t n = element_count(type);
  const int64_t bytes = byte_count(type);
  void* const values = calloc(n + 1, (type->dtype.bits + 7u) / 8);
  size_t i;
  DLTensor t;
  memset(&t, 0, sizeof t);
  t.device.device_type = (DLDeviceType)hone_gpu_properties(gpu)->device_type;
  t.device.device_id = hone_gpu_properties(gpu)->device_id;
  t.ndim = type->ndim;
  t.dtype = type->dtype;
  t.shape = (int64_t*)type->shape; /* only read */
  for (i = 0; values && type->dtype.code == kDLFloat && type->dtype.bits == 32 && i < n; ++i) ((float*)values)[i] = 1;
  if (values && hone_gpu_allocate(gpu, bytes > 0 ? bytes : 1, &t.data) == HONE_OK)
    hone_gpu_write(gpu, t.data, 0, values, bytes);
  free(values);
  return t;
}

static int fail(const char* why) {
  fprintf(stderr, "%s\n", why);
  return 1;
}

enum { kMost = 16 };

int main(int argc, char** argv) {
  HoneGpuDevice* gpu;
  HoneRuntime* calls;
  HoneModel* model;
  DLTensor tensors[2 * kMost];
  const DLTensor *inputs[kMost], *outputs[kMost];
  int32_t i, k;
  if (argc != 3) return fprintf(stderr, "usage: on_gpu ARTIFACT.so DEVICE (cuda:0, opencl, auto)\n"), 2;

  if (hone_gpu_open(argv[2], &gpu) != HONE_OK) return fail(hone_gpu_last_error());
  printf("%s: %s\n", hone_gpu_properties(gpu)->name, hone_gpu_properties(gpu)->model);
  /* Calls on the device's own stream that do not wait; a program with a CUstream or a cl_command_queue gives that. */
  if (hone_gpu_runtime_new(gpu, NULL, NULL, 1, &calls) != HONE_OK) return fail(hone_gpu_last_error());
  if (hone_open_on(argv[1], NULL, calls, &model) != HONE_OK) return fail(hone_last_error());

  const int32_t in = hone_input_count(model), out = hone_output_count(model);
  if (in > kMost || out > kMost) return 2;
  for (i = 0; i < in; ++i) tensors[i] = new_tensor(gpu, &hone_input(model, i)->plain);
  for (i = 0; i < out; ++i) tensors[in + i] = new_tensor(gpu, &hone_output(model, i)->plain);
  for (i = 0; i < in + out; ++i) {
    if (!tensors[i].data) return fail(hone_gpu_last_error());
    if (i < in)
      inputs[i] = &tensors[i];
    else
      outputs[i - in] = &tensors[i];
  }

  for (k = 0; k < 2; ++k)
    if (hone_run(model, inputs, in, outputs, out, calls) != HONE_OK) return fail(hone_last_error());
  if (hone_gpu_wait(calls) != HONE_OK) return fail(hone_gpu_last_error());

  for (i = 0; i < out; ++i) {
    const HoneParam* const p = hone_output(model, i);
    float first[4] = {0};
    const size_t n = element_count(&p->plain) < 4 ? element_count(&p->plain) : 4;
    if (p->plain.dtype.code != kDLFloat || p->plain.dtype.bits != 32) continue;
    if (hone_gpu_read(gpu, outputs[i]->data, 0, first, (int64_t)(n * sizeof *first)) != HONE_OK)
      return fail(hone_gpu_last_error());
    printf("%s =", p->name);
    for (k = 0; (size_t)k < n; ++k) printf(" %g", (double)first[k]);
    printf("\n");
  }

  for (i = 0; i < in + out; ++i) hone_gpu_free(gpu, tensors[i].data);
  hone_close(model);
  hone_gpu_runtime_free(calls);
  hone_gpu_close(gpu);
  return 0;
}
