/* Pinned memory of the launcher, through which the caller's pageable tensors go: the host does not wait for each copy.
   One call at a time uses it. */
#ifndef HONE_LAUNCHER_STAGING_H
#define HONE_LAUNCHER_STAGING_H

#include "compiler/runtime/launcher/shared.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { kHoneMostStaged = 64 << 20 };

/* Bytes that the caller gets once the device is done. */
typedef struct HoneStaged {
  char* to;
  const char* from;  /* pinned; null: they are on the device, below */
  HoneMemory memory; /* of the device */
  int64_t offset, bytes;
} HoneStaged;

typedef struct HoneStaging {
  char* memory;        /* null: there is none */
  int64_t bytes, used; /* of it; by the call that runs */
  int32_t is_refused;  /* the driver gives no more */
  HoneStaged* outputs;
  int64_t output_count, output_room;
} HoneStaging;

/* Begins a call that needs so many bytes: makes memory for them where the driver gives it, up to kHoneMostStaged. */
void hone_internal_staging_begin(HoneShared* shared, HoneStaging* staging, int64_t bytes);
void hone_internal_staging_free(HoneShared* shared, HoneStaging* staging);

/* Bytes that take so much room, apart from other places. */
int64_t hone_internal_staged_bytes(int64_t bytes);
/* A place of the call that runs; null where there is no room. */
char* hone_internal_staging_place(HoneStaging* staging, int64_t bytes);

/* Sends bytes of the host, which may change once the call is done, or, where there is room for them, on return. */
int32_t hone_internal_send(HoneShared* shared, HoneStaging* staging, HoneMemory to, int64_t offset, const char* from,
                           int64_t bytes, void* stream);
/* Lets bytes of the device be at `to` once hone_internal_staging_finish has returned. `place`: of as many bytes, which
   they go through; null: they are read then. */
int32_t hone_internal_fetch(HoneShared* shared, HoneStaging* staging, HoneMemory from, int64_t offset, char* to,
                            int64_t bytes, char* place, void* stream);
/* Once the stream's commands are done. */
int32_t hone_internal_staging_finish(HoneShared* shared, HoneStaging* staging, void* stream);

#ifdef __cplusplus
}
#endif

#endif
