/* On ARM: runs artifacts whose names come on the standard input, a line each: ARTIFACT INPUTS OUTPUTS. INPUTS holds the
   row-major elements of all inputs one behind the other; those of all outputs go to OUTPUTS, and where nothing was
   written they are bytes of 0xff. Two threads of the artifact's own pool, where it has one. One line says what each
   call returned. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hone_runtime.h"

enum { kMostTensors = 64 };

static size_t bytes_of(const HoneTensorType* t) {
  size_t n = (size_t)(t->dtype.bits * t->dtype.lanes + 7) / 8;
  for (int i = 0; i < t->ndim; ++i) n *= (size_t)t->shape[i];
  return n;
}

/* Elements as aligned as malloc makes them would do; the rest of the last page of a tensor is not the tensor's. */
static void* allocate(size_t bytes) {
  void* p = NULL;
  return posix_memalign(&p, 64, bytes + 64) == 0 ? p : NULL;
}

static void* function_of(void* object, const char* name, const char* suffix) {
  char symbol[256];
  snprintf(symbol, sizeof symbol, "%s%s", name, suffix);
  return dlsym(object, symbol);
}

/* The thread's floating-point mode. */
static unsigned long mode_of_floats(void) {
  unsigned long mode = 0;
#ifdef __aarch64__
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
#endif
  return mode;
}

/* Null, or what went wrong. */
static const char* run(const char* path, FILE* inputs, FILE* outputs) {
  void* const object = dlopen(path, RTLD_NOW);
  if (!object) return dlerror();
  const HoneArtifact* const artifact = (const HoneArtifact*)dlsym(object, "hone_this_artifact");
  if (!artifact || artifact->abi_version != HONE_ARTIFACT_ABI) return "no artifact of this version";
  HoneRuntime* (*new_pool)(int32_t);
  void (*free_pool)(HoneRuntime*);
  *(void**)&new_pool = function_of(object, artifact->name, "_pool");
  *(void**)&free_pool = function_of(object, artifact->name, "_pool_free");
  /* An artifact compiled from C has no pool, and takes null. */
  HoneRuntime* const pool = new_pool && free_pool ? new_pool(2) : NULL;
  if (!pool && new_pool) return "no thread pool";
  const HoneVariant* const v = &artifact->variants[0];
  if (v->param_count > kMostTensors) return "too many tensors";

  DLTensor tensors[kMostTensors];
  const DLTensor* args[kMostTensors];
  memset(tensors, 0, sizeof tensors);
  for (int i = 0; i < v->param_count; ++i) {
    const HoneTensorType* const t = &v->params[i].plain;
    const size_t bytes = bytes_of(t);
    tensors[i].data = allocate(bytes);
    if (!tensors[i].data) return "no memory";
    tensors[i].device.device_type = kDLCPU;
    tensors[i].ndim = t->ndim;
    tensors[i].dtype = t->dtype;
    tensors[i].shape = (int64_t*)t->shape;
    args[i] = &tensors[i];
    if (v->params[i].role == HONE_OUTPUT)
      memset(tensors[i].data, 0xff, bytes);
    else if (fread(tensors[i].data, 1, bytes, inputs) != bytes)
      return "the inputs are too short";
  }
  if (fgetc(inputs) != EOF) return "the inputs are too long";
  void* const workspace = allocate((size_t)v->run_workspace_bytes);
  const unsigned long mode = mode_of_floats();
  const int32_t code = v->run(args, v->param_count, workspace, pool);
  if (mode_of_floats() != mode) return "the floating-point mode is another one afterwards";
  if (code != HONE_OK) return artifact->error(code);
  for (int i = 0; i < v->param_count; ++i) {
    const size_t bytes = bytes_of(&v->params[i].plain);
    if (v->params[i].role == HONE_OUTPUT && fwrite(tensors[i].data, 1, bytes, outputs) != bytes)
      return "the outputs cannot be written";
    free(tensors[i].data);
  }
  free(workspace);
  if (pool) free_pool(pool);
  return NULL;
}

int main(void) {
  char artifact[4096], in[4096], out[4096];
  while (scanf("%4095s %4095s %4095s", artifact, in, out) == 3) {
    FILE *const inputs = fopen(in, "rb"), *const outputs = fopen(out, "wb");
    const char* const wrong = inputs && outputs ? run(artifact, inputs, outputs) : "a file cannot be opened";
    if (inputs) fclose(inputs);
    if (outputs && fclose(outputs) != 0) return 1;
    puts(wrong ? wrong : "ok");
    fflush(stdout);
  }
  return 0;
}
