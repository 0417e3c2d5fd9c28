/* Shared by the plans of a device: programs that are loaded and weights that were copied there. Each lives as long as a
   plan uses it. */
#ifndef HONE_LAUNCHER_SHARED_H
#define HONE_LAUNCHER_SHARED_H

#include "compiler/runtime/launcher/driver.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HoneLoaded {
  struct HoneLoaded* next;
  const HoneGpuProgram* program;
  void* loaded; /* the driver's */
  int64_t users;
} HoneLoaded;

typedef struct HoneWeights {
  struct HoneWeights* next;
  const void* weights; /* on the host */
  HoneMemory memory;
  int64_t users;
} HoneWeights;

typedef struct HoneShared {
  HoneDriver driver;
  HoneWords words; /* of the last failure */
  HoneLoaded* loaded;
  HoneWeights* weights;
} HoneShared;

/* HONE_BAD_ARGUMENTS for a program of another kind of device. */
int32_t hone_internal_check_device(HoneShared* shared, const HoneGpuProgram* program);

/* Takes the binary where it is of the device's architecture, else the text. */
int32_t hone_internal_load(HoneShared* shared, const HoneGpuProgram* program, HoneLoaded** loaded);
void hone_internal_unload(HoneShared* shared, HoneLoaded* loaded);

/* Null where the model has none. */
int32_t hone_internal_weights_of(HoneShared* shared, const HoneGpuModel* model, HoneWeights** weights);
void hone_internal_release_weights(HoneShared* shared, HoneWeights* weights);

/* HONE_GPU_FAILED, with the words for it. */
int32_t hone_internal_no_host_memory(HoneShared* shared);

#ifdef __cplusplus
}
#endif

#endif
