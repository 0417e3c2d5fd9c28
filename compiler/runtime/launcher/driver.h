/* A device's driver as the launcher sees it: memory, programs, launches. One table of functions for each API, so that
   the launcher calls none itself, and a host that has a device layer of its own brings a table of its own. */
#ifndef HONE_LAUNCHER_DRIVER_H
#define HONE_LAUNCHER_DRIVER_H

#include "compiler/runtime/include/hone_runtime.h"
#include "compiler/runtime/launcher/words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the device, or a part of it: a driver's handle. Null is none. */
typedef void* HoneMemory;

/* Functions return HONE_OK, or a code with the reason in `words`: HONE_GPU_FAILED, of `wrap` also HONE_BAD_ARGUMENTS,
   and where there is no memory a code of the driver's own. `stream`: null, the device's own in-order queue, or one of
   the caller's (a CUstream, a cl_command_queue). Called by one thread at a time. */
typedef struct HoneDriver {
  void* self;              /* passed to each function */
  const char* api;         /* "cuda", "opencl" */
  const char* device_name; /* for people */
  const char* arch;        /* "sm_90", of which it takes binaries; empty: it takes texts alone */
  int32_t device_type;     /* DLPack's, of its memory: kDLCUDA, kDLOpenCL */
  int32_t device_id;       /* DLPack's number of the device, which its own memory has; -1: any */
  int32_t has_addresses;   /* memory of others is given by address, which may be inside an allocation */
  /* DLPack's types of memory that it shares with the host and reads by the host's address; ends with 0. */
  const int32_t* host_device_types;

  /* At least one byte, until deallocate. */
  int32_t (*allocate)(void* self, int64_t bytes, HoneMemory* memory, HoneWords* words);
  void (*deallocate)(void* self, HoneMemory memory);
  /* Memory of somebody else's, which stays his: `native` is an address (has_addresses), or the API's handle. */
  int32_t (*wrap)(void* self, void* native, int64_t bytes, HoneMemory* memory, HoneWords* words);
  /* The bytes offset .. offset + bytes - 1 of `of`, which outlives it. */
  int32_t (*part)(void* self, HoneMemory of, int64_t offset, int64_t bytes, HoneMemory* memory, HoneWords* words);
  /* Ends what the two functions above gave. */
  void (*release)(void* self, HoneMemory memory);

  /* Copies from and to the host. read: done on return. write: of 8 bytes, at a multiple of 8, the host's may change on
     return; of others once `wait` has returned. */
  int32_t (*write)(void* self, HoneMemory to, int64_t offset, const void* from, int64_t bytes, void* stream,
                   HoneWords* words);
  int32_t (*read)(void* self, HoneMemory from, int64_t offset, void* to, int64_t bytes, void* stream, HoneWords* words);
  /* A copy on the device, as a command. */
  int32_t (*copy)(void* self, HoneMemory from, HoneMemory to, int64_t bytes, void* stream, HoneWords* words);

  /* A program from a binary, or from text that ends with a zero (`bytes` does not count it). */
  int32_t (*load)(void* self, const void* image, int64_t bytes, void** program, HoneWords* words);
  void (*unload)(void* self, void* program);

  /* A launch of a kernel of the program with `count` pointers for its parameters, which set_argument says before the
     first enqueue and keeps until it says others. */
  int32_t (*bind)(void* self, void* program, const HoneGpuLaunch* launch, int32_t count, void** bound,
                  HoneWords* words);
  int32_t (*set_argument)(void* self, void* bound, int32_t index, HoneMemory memory, HoneWords* words);
  void (*unbind)(void* self, void* bound);
  int32_t (*enqueue)(void* self, void* bound, void* stream, HoneWords* words);

  /* Calls `commands`, whose enqueues and copies (with the stream that it is given) are recorded and not run.
     `*recording` stays null where the driver records nothing; `commands` is not called then. */
  int32_t (*record)(void* self, int32_t (*commands)(void* closure, void* stream), void* closure, void** recording,
                    HoneWords* words);
  int32_t (*replay)(void* self, void* recording, void* stream, HoneWords* words);
  /* Calls `commands` again, which are those of the recording but for the memory that they use: replays have the new
     memory from now on, those that were sent before the old one. Where it fails the recording can only be forgotten.
     Null: recordings keep the memory that they have. */
  int32_t (*rebind)(void* self, void* recording, int32_t (*commands)(void* closure, void* stream), void* closure,
                    HoneWords* words);
  void (*forget)(void* self, void* recording);

  /* Waits for the stream's commands; reports kernels that failed. */
  int32_t (*wait)(void* self, void* stream, HoneWords* words);
  /* The same of whatever stream may use the driver's memory, also of one that is gone. */
  int32_t (*wait_for_all)(void* self, HoneWords* words);

  /* Pinned memory of the host, and copies beside the steps. All of these are null for a driver that gains nothing by
     them: one whose copies never make the host wait, or always do. */
  /* The device copies from pinned memory (`write`) and to it (`fetch`, a command) by itself. */
  int32_t (*allocate_pinned)(void* self, int64_t bytes, void** memory, HoneWords* words);
  void (*free_pinned)(void* self, void* memory);
  int32_t (*fetch)(void* self, HoneMemory from, int64_t offset, void* to, int64_t bytes, void* stream,
                   HoneWords* words);
  /* Streams 0 and 1 of the driver's own, which run beside those of callers. */
  int32_t (*side_stream)(void* self, int32_t number, void** stream, HoneWords* words);
  /* Commands sent to `stream` from now on run behind those sent to `other` before. */
  int32_t (*follow)(void* self, void* stream, void* other, HoneWords* words);
} HoneDriver;

#ifdef __cplusplus
}
#endif

#endif
