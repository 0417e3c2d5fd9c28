/* Runs the programs and models of artifacts on one device. */
#ifndef HONE_LAUNCHER_LAUNCHER_H
#define HONE_LAUNCHER_LAUNCHER_H

#include "compiler/runtime/launcher/driver.h"
#include "compiler/runtime/launcher/tensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Programs that are loaded, weights on the device and the plans of what was run. For one thread at a time. */
typedef struct HoneLauncher HoneLauncher;

/* How a call runs. */
typedef struct HoneCallMode {
  HoneWhere where;  /* its tensors may lie; caches of models also on the device where this says the CPU */
  void* stream;     /* null: the device's own */
  int32_t is_async; /* returns before the device is done, where all of its tensors are on the device */
} HoneCallMode;

/* `driver` is copied; what its `self` points to outlives the launcher. Null: no memory. */
HoneLauncher* hone_internal_launcher_new(const HoneDriver* driver);
/* Frees all that it has on the device; nothing may run. Null does nothing. */
void hone_internal_launcher_free(HoneLauncher* launcher);

/* Runs a program, a model or a part of a model: what `program` says it is the head of. Tensors on the CPU are
   row-major; those on the device have the layout of the program (of models that is row-major). `workspace`: the native
   memory that the call uses on the device; null: the launcher's own (`where` other than HONE_ON_DEVICE), or none. `rt`:
   the threads that pack tensors on the CPU; may be null where none is there. Weights are copied to the device when they
   are first met, and what was loaded is kept until it is forgotten. HONE_OK, HONE_BAD_ARGUMENTS, HONE_NO_RESULT,
   HONE_GPU_FAILED, or the driver's code where there is no memory; the words say why. */
int32_t hone_internal_launch(HoneLauncher* launcher, const HoneGpuProgram* program, const DLTensor* const* args,
                             int32_t n, void* workspace, const HoneRuntime* rt, const HoneCallMode* mode);

/* Loads the program, or all of a model, and copies its weights, so that the first call has less to do and what cannot
   run says so. Codes as hone_internal_launch. */
int32_t hone_internal_launcher_prepare(HoneLauncher* launcher, const HoneGpuProgram* program);

/* Frees what was made for the program or model, which may then be unloaded. */
void hone_internal_launcher_forget(HoneLauncher* launcher, const HoneGpuProgram* program);

/* Why the last call did not return HONE_OK. */
const HoneWords* hone_internal_launcher_words(const HoneLauncher* launcher);

#ifdef __cplusplus
}
#endif

#endif
