#include "compiler/runtime/launcher/staging.h"

#include <stdlib.h>
#include <string.h>

/* Places begin apart, so that no two copies share a line of the caches. The device copies one part of a large
   tensor while the host copies the next one. */
enum { kPlace = 256, kPart = 1 << 20 };

int64_t hone_internal_staged_bytes(int64_t bytes) { return (bytes + kPlace - 1) / kPlace * kPlace; }

void hone_internal_staging_free(HoneShared* shared, HoneStaging* staging) {
  if (staging->memory) shared->driver.free_pinned(shared->driver.self, staging->memory);
  free(staging->outputs);
  memset(staging, 0, sizeof *staging);
}

void hone_internal_staging_begin(HoneShared* shared, HoneStaging* staging, int64_t bytes) {
  const HoneDriver* const driver = &shared->driver;
  const int64_t wanted = bytes < kHoneMostStaged ? bytes : kHoneMostStaged;
  staging->used = 0;
  staging->output_count = 0;
  if (!driver->allocate_pinned || staging->is_refused || wanted <= staging->bytes) return;
  /* It grows by half at least: making it takes as long as many calls. */
  int64_t more = staging->bytes + staging->bytes / 2;
  if (more < wanted) more = wanted;
  if (more > kHoneMostStaged) more = kHoneMostStaged;
  HoneWords ignored;
  void* made = NULL;
  if (driver->allocate_pinned(driver->self, more, &made, &ignored) != HONE_OK) {
    /* The memory that is there goes on serving. */
    staging->is_refused = 1;
    return;
  }
  if (staging->memory) driver->free_pinned(driver->self, staging->memory);
  staging->memory = made;
  staging->bytes = more;
}

char* hone_internal_staging_place(HoneStaging* staging, int64_t bytes) {
  const int64_t room = hone_internal_staged_bytes(bytes);
  if (!staging->memory || room > staging->bytes - staging->used) return NULL;
  char* const place = staging->memory + staging->used;
  staging->used += room;
  return place;
}

int32_t hone_internal_send(HoneShared* shared, HoneStaging* staging, HoneMemory to, int64_t offset, const char* from,
                           int64_t bytes, void* stream) {
  const HoneDriver* const driver = &shared->driver;
  char* const place = hone_internal_staging_place(staging, bytes);
  if (!place) return driver->write(driver->self, to, offset, from, bytes, stream, &shared->words);
  int32_t code = HONE_OK;
  for (int64_t at = 0; at < bytes && code == HONE_OK; at += kPart) {
    const int64_t part = bytes - at < kPart ? bytes - at : kPart;
    memcpy(place + at, from + at, (size_t)part);
    code = driver->write(driver->self, to, offset + at, place + at, part, stream, &shared->words);
  }
  return code;
}

int32_t hone_internal_fetch(HoneShared* shared, HoneStaging* staging, HoneMemory from, int64_t offset, char* to,
                            int64_t bytes, char* place, void* stream) {
  const HoneDriver* const driver = &shared->driver;
  if (staging->output_count == staging->output_room) {
    const int64_t room = staging->output_room ? 2 * staging->output_room : 16;
    HoneStaged* const outputs = realloc(staging->outputs, (size_t)room * sizeof *outputs);
    if (!outputs) return hone_internal_no_host_memory(shared);
    staging->outputs = outputs;
    staging->output_room = room;
  }
  staging->outputs[staging->output_count++] = (HoneStaged){to, place, from, offset, bytes};
  return place ? driver->fetch(driver->self, from, offset, place, bytes, stream, &shared->words) : HONE_OK;
}

int32_t hone_internal_staging_finish(HoneShared* shared, HoneStaging* staging, void* stream) {
  const HoneDriver* const driver = &shared->driver;
  int32_t code = HONE_OK;
  for (int64_t i = 0; i < staging->output_count && code == HONE_OK; ++i) {
    const HoneStaged* const s = &staging->outputs[i];
    if (s->from)
      memcpy(s->to, s->from, (size_t)s->bytes);
    else
      code = driver->read(driver->self, s->memory, s->offset, s->to, s->bytes, stream, &shared->words);
  }
  staging->output_count = 0;
  return code;
}
