/* Copies of CUDA's by the device alone: pinned memory, and streams beside those of callers. */
#include "compiler/api/gpu/cuda.h"

#define check hone_internal_cuda_check
#define enter hone_internal_cuda_enter
#define leave hone_internal_cuda_leave

int32_t hone_internal_cuda_allocate_pinned(void* self, int64_t bytes, void** memory, HoneWords* words) {
  HoneCuda* const c = self;
  const int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  return leave(c, check(c, c->cu.allocate_pinned(memory, (size_t)bytes, 0), words, "%lld bytes of pinned memory",
                        (long long)bytes));
}

void hone_internal_cuda_free_pinned(void* self, void* memory) {
  HoneCuda* const c = self;
  if (!hone_internal_cuda_enter_to_free(c)) return;
  c->cu.free_pinned(memory);
  leave(c, HONE_OK);
}

int32_t hone_internal_cuda_fetch(void* self, HoneMemory from, int64_t offset, void* to, int64_t bytes, void* stream,
                                 HoneWords* words) {
  HoneCuda* const c = self;
  const int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  return leave(c, check(c, c->cu.fetch(to, (CuAddress)(uintptr_t)from + (CuAddress)offset, (size_t)bytes, stream),
                        words, "reading from the device"));
}

/* It waits for no other stream by itself, the default one neither. */
int32_t hone_internal_cuda_side_stream(void* self, int32_t number, void** stream, HoneWords* words) {
  HoneCuda* const c = self;
  int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  if (!c->event) code = check(c, c->cu.create_event(&c->event, HONE_CU_EVENT_WITHOUT_TIME), words, "an event");
  if (code == HONE_OK && !c->sides[number])
    code = check(c, c->cu.create_stream(&c->sides[number], HONE_CU_STREAM_NON_BLOCKING), words, "a stream");
  *stream = c->sides[number];
  return leave(c, code);
}

/* A stream waits for what the event was recorded behind when it was told to, whatever comes later: one event is
   enough. */
int32_t hone_internal_cuda_follow(void* self, void* stream, void* other, HoneWords* words) {
  HoneCuda* const c = self;
  int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  code = check(c, c->cu.record_event(c->event, other), words, "an event");
  if (code == HONE_OK) code = check(c, c->cu.wait_event(stream, c->event, 0), words, "waiting for an event");
  return leave(c, code);
}

void hone_internal_cuda_close_copies(HoneCuda* c) {
  if ((!c->event && !c->sides[0] && !c->sides[1]) || !hone_internal_cuda_enter_to_free(c)) return;
  for (int i = 0; i < 2; ++i)
    if (c->sides[i]) c->cu.destroy_stream(c->sides[i]);
  if (c->event) c->cu.destroy_event(c->event);
  leave(c, HONE_OK);
}
