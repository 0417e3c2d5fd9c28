/* A device of libhone_gpu: its driver, its launcher, and who may use it. */
#ifndef HONE_GPU_DEVICE_H
#define HONE_GPU_DEVICE_H

#include <pthread.h>
#include <sys/types.h>

#include "compiler/api/gpu/drivers.h"
#include "compiler/runtime/launcher/launcher.h"

struct HoneGpuDevice {
  struct HoneGpuDevice* next; /* of all that are open */
  HoneOpened opened;
  HoneLauncher* launcher;
  pthread_mutex_t mutex; /* one call at a time */
  pid_t process;         /* that opened it: a driver's device is of no use in a child of fork() */
  char name[32];
  /* Under the list's mutex: */
  int32_t is_shared; /* opened for artifacts that ask for a device */
  int64_t users;     /* of a shared one */
  int64_t visitors;  /* that look at it without having it: it is not freed meanwhile */
};

/* Where a runtime sends its calls: what HoneGpu::self is. */
typedef struct HoneQueue {
  HoneRuntime runtime;
  HoneGpu gpu;
  HoneGpuDevice* device;
  void* stream;
  int32_t is_async;
} HoneQueue;

/* Sets up a queue, whose runtime and gpu point into it. */
void hone_internal_queue_begin(HoneQueue* queue, HoneGpuDevice* device, const HoneRuntime* pool, void* stream,
                               int32_t is_async);
/* Null where the runtime's GPU is none of ours. */
HoneQueue* hone_internal_queue_of(const HoneRuntime* runtime);

/* Begins a call on the device: HONE_GPU_FAILED in a child of fork(). Where it is HONE_OK hone_internal_leave follows.
 */
int32_t hone_internal_enter(HoneGpuDevice* device);
void hone_internal_leave(HoneGpuDevice* device);

/* Runs under the device's mutex; keeps the words of what failed. */
int32_t hone_internal_run(HoneQueue* queue, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                          void* workspace, const HoneRuntime* rt, const HoneCallMode* mode);

/* Keeps the words for hone_gpu_last_error and returns `code`. */
int32_t hone_internal_gpu_fail(int32_t code, const char* format, ...) __attribute__((format(printf, 2, 3)));

#endif
