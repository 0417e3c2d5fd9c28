/* The functions that libhone_runtime takes from libhone_gpu, once it meets an artifact for a GPU. */
#ifndef HONE_GPU_LIBRARY_H
#define HONE_GPU_LIBRARY_H

#include "compiler/api/hone.h"

typedef struct HoneGpuDevice HoneGpuDevice;

enum { HONE_GPU_LIBRARY_VERSION = 1 };

typedef struct HoneGpuLibrary {
  int32_t version; /* HONE_GPU_LIBRARY_VERSION */
  /* The device for the artifact's program or model: the first of its API, which all who ask share. Loads the program
     and copies the weights. To be given back. */
  int32_t (*take)(const HoneGpuProgram* program, HoneGpuDevice** gpu);
  void (*give_back)(HoneGpuDevice* gpu);
  int32_t (*runtime_new)(HoneGpuDevice* gpu, const HoneRuntime* pool, void* stream, int32_t is_async,
                         HoneRuntime** runtime);
  void (*runtime_free)(HoneRuntime* runtime);
  /* Whether the runtime's GPU is one of this library. */
  int32_t (*is_ours)(const HoneRuntime* runtime);
  /* Runs on a variant's tensors, each of which lies on the CPU or the device. `runtime` is ours. Returns what NAME_run
     does: where HONE_WHAT_IS_WRONG says something the artifact's sentence says the rest, else last_error does. */
  int32_t (*call)(const HoneRuntime* runtime, const HoneVariant* variant, const DLTensor* const* args);
  /* Frees what devices have of the program. */
  void (*forget)(const HoneGpuProgram* program);
  const char* (*last_error)(void);
} HoneGpuLibrary;

HONE_API extern const HoneGpuLibrary hone_gpu_library;

#endif
