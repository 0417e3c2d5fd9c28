#define _POSIX_C_SOURCE 200809L
#include "compiler/runtime/launcher/copies.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/launcher/caches.h"

/* kLarge: copies from there on take tens of microseconds, as long as a launch more and an event. kMostStagedAtEnd:
   behind the last step nothing runs beside a copy, and drivers copy more than that to pageable memory part by part, one
   while the next one comes. */
enum { kAlignment = 64, kLarge = 256 << 10, kMostStagedAtEnd = 1 << 20 };

#define say(...) hone_internal_say(&copies->shared->words, __VA_ARGS__)

void hone_internal_copies_free(HoneCopies* copies) { hone_internal_staging_free(copies->shared, &copies->staging); }

int hone_internal_is_copied(const HoneCall* call, int64_t i) { return hone_internal_is_on_cpu(call->args[i]); }

/* --- layouts of the device --- */

/* On the CPU in the layout of the device. */
static int32_t packed_memory(HoneCopies* copies, HoneSource* source) {
  if (source->packed) return HONE_OK;
  if (posix_memalign(&source->packed, kAlignment, source->bytes > 0 ? (size_t)source->bytes : 1) == 0) return HONE_OK;
  source->packed = NULL;
  return hone_internal_no_host_memory(copies->shared);
}

static int32_t packed_by(HoneCopies* copies, HoneEntry entry, const DLTensor* from, const DLTensor* to,
                         const HoneRuntime* rt) {
  const DLTensor* args[2] = {from, to};
  const int32_t code = entry(args, 2, NULL, rt);
  if (code == HONE_OK) return HONE_OK;
  return say((code & 0xff) == HONE_BAD_ARGUMENTS ? HONE_BAD_ARGUMENTS : HONE_GPU_FAILED,
             "packing a tensor on the CPU returned code %d", (int)code);
}

static DLTensor packed_view(const DLTensor* tensor, const HoneSource* source) {
  DLTensor view = *tensor;
  view.data = source->packed;
  view.byte_offset = 0;
  return view;
}

/* --- what is copied --- */

static int is_input(const HoneCall* call, int32_t i) {
  const HoneSource* const s = &call->plan->sources[i];
  return !s->cache && !s->param->is_output && hone_internal_is_copied(call, i);
}
static int is_output(const HoneCall* call, int32_t i) {
  const HoneSource* const s = &call->plan->sources[i];
  return !s->cache && s->param->is_output && hone_internal_is_copied(call, i);
}
static int32_t tensors_of(const HoneCall* call) { return call->plan->source_count - 1; }
static int64_t caches_of(const HoneCall* call) { return call->plan->rows ? call->plan->model->cache_count : 0; }

/* Room in pinned memory for all that goes through it. */
static int64_t staged_bytes(const HoneCall* call, int32_t what) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < tensors_of(call); ++i)
    if ((what & HONE_GPU_COPY_INPUTS && is_input(call, i)) || (what & HONE_GPU_COPY_OUTPUTS && is_output(call, i)))
      bytes += hone_internal_staged_bytes(call->plan->sources[i].bytes);
  for (int64_t c = 0; c < caches_of(call); ++c) {
    const HoneGpuCache* const cache = &call->plan->model->caches[c];
    if (hone_internal_is_copied(call, cache->output))
      bytes += cache->matrices * (hone_internal_staged_bytes(call->rows * cache->row_bytes) +
                                  hone_internal_staged_bytes(cache->row_bytes));
  }
  return bytes;
}

/* --- what runs beside the steps --- */

static int has_streams(HoneCopies* copies) {
  const HoneDriver* const driver = &copies->shared->driver;
  HoneWords ignored;
  if (copies->has_no_streams || !driver->side_stream) return 0;
  if (!copies->to_device && driver->side_stream(driver->self, 0, &copies->to_device, &ignored) != HONE_OK)
    copies->to_device = NULL;
  if (!copies->to_host && driver->side_stream(driver->self, 1, &copies->to_host, &ignored) != HONE_OK)
    copies->to_host = NULL;
  copies->has_no_streams = !copies->to_device || !copies->to_host;
  return !copies->has_no_streams;
}

/* Large inputs that the first step does not need, and large outputs that the last one does not change. To pageable
   memory a copy would keep the host from sending the steps beside which it is to run. */
static void choose_cuts(HoneCopies* copies, const HoneCall* call) {
  HonePlan* const plan = call->plan;
  for (int32_t i = 0; i < tensors_of(call); ++i) {
    HoneSource* const s = &plan->sources[i];
    const int is_large = s->bytes >= kLarge;
    const int is_late = is_large && is_input(call, i) && s->first_step > 0,
              is_early = is_large && is_output(call, i) && s->last_step < plan->step_count - 1;
    if ((!is_late && !is_early) || !has_streams(copies)) continue;
    if (is_early) s->staged = hone_internal_staging_place(&copies->staging, s->bytes);
    s->is_late = is_late;
    if (is_late) plan->cuts[s->first_step] = 1;
    if (s->staged) plan->cuts[s->last_step + 1] = 1;
  }
}

static void clear_cuts(HonePlan* plan) {
  memset(plan->cuts, 0, (size_t)plan->step_count);
  for (int32_t i = 0; i < plan->source_count; ++i) {
    plan->sources[i].is_late = 0;
    plan->sources[i].staged = NULL;
  }
}

/* --- there --- */

static int32_t send_input(HoneCopies* copies, const HoneCall* call, int32_t i, void* stream) {
  HoneSource* const source = &call->plan->sources[i];
  const char* data = hone_internal_data(call->args[i]);
  if (!call->plan->model && source->param->pack) {
    int32_t code = packed_memory(copies, source);
    const DLTensor to = packed_view(call->args[i], source);
    if (code == HONE_OK) code = packed_by(copies, source->param->pack, call->args[i], &to, call->rt);
    if (code != HONE_OK) return code;
    data = source->packed;
  }
  if (source->bytes == 0) return HONE_OK;
  return hone_internal_send(copies->shared, &copies->staging, hone_internal_memory_of(call->plan, i), 0, data,
                            source->bytes, stream);
}

/* The rows that caches on the CPU have, and how many there are. */
static int32_t send_rows(HoneCopies* copies, const HoneCall* call) {
  HonePlan* const plan = call->plan;
  const HoneDriver* const driver = &copies->shared->driver;
  int32_t code = HONE_OK;
  for (int64_t c = 0; c < caches_of(call) && call->rows > 0; ++c) {
    const HoneGpuCache* const cache = &plan->model->caches[c];
    if (!hone_internal_is_copied(call, cache->output)) continue;
    const char* const data = hone_internal_data(call->args[cache->output]);
    for (int64_t m = 0; m < cache->matrices && code == HONE_OK; ++m) {
      const int64_t at = m * cache->room * cache->row_bytes;
      code = hone_internal_send(copies->shared, &copies->staging, hone_internal_memory_of(plan, cache->output), at,
                                data + at, call->rows * cache->row_bytes, plan->stream);
    }
  }
  /* In order with the device's commands, so that an earlier call reads the number that it was given. */
  return code != HONE_OK || !plan->rows ? code
                                        : driver->write(driver->self, plan->rows, 0, &call->rows, sizeof call->rows,
                                                        plan->stream, &copies->shared->words);
}

int32_t hone_internal_begin_copies(HoneCopies* copies, const HoneCall* call, int32_t what, int32_t is_whole) {
  const int64_t bytes = staged_bytes(call, what);
  copies->uses_to_device = copies->uses_to_host = 0;
  if (bytes > 0) hone_internal_staging_begin(copies->shared, &copies->staging, bytes);
  clear_cuts(call->plan);
  if (is_whole && bytes >= kLarge) choose_cuts(copies, call);
  if (!(what & HONE_GPU_COPY_INPUTS)) return HONE_OK;
  int32_t code = HONE_OK;
  for (int32_t i = 0; i < tensors_of(call) && code == HONE_OK; ++i)
    if (is_input(call, i) && !call->plan->sources[i].is_late) code = send_input(copies, call, i, call->plan->stream);
  return code == HONE_OK ? send_rows(copies, call) : code;
}

/* --- between --- */

int32_t hone_internal_copy_between(HoneCopies* copies, const HoneCall* call, int64_t step) {
  const HoneDriver* const driver = &copies->shared->driver;
  HonePlan* const plan = call->plan;
  int32_t code = HONE_OK, waits = 0;
  for (int32_t i = 0; i < tensors_of(call) && code == HONE_OK; ++i) {
    const HoneSource* const s = &plan->sources[i];
    if (!s->staged || s->last_step + 1 != step) continue;
    code = driver->follow(driver->self, copies->to_host, plan->stream, &copies->shared->words);
    copies->uses_to_host = 1;
    if (code == HONE_OK)
      code = hone_internal_fetch(copies->shared, &copies->staging, hone_internal_memory_of(plan, i), 0,
                                 hone_internal_data(call->args[i]), s->bytes, s->staged, copies->to_host);
  }
  for (int32_t i = 0; i < tensors_of(call) && code == HONE_OK; ++i) {
    if (!plan->sources[i].is_late || plan->sources[i].first_step != step) continue;
    copies->uses_to_device = waits = 1;
    code = send_input(copies, call, i, copies->to_device);
  }
  return code != HONE_OK || !waits
             ? code
             : driver->follow(driver->self, plan->stream, copies->to_device, &copies->shared->words);
}

/* --- back --- */

static int32_t fetch_output(HoneCopies* copies, const HoneCall* call, int32_t i) {
  HoneSource* const source = &call->plan->sources[i];
  const int is_unpacked = !call->plan->model && source->param->unpack;
  const int32_t code = is_unpacked ? packed_memory(copies, source) : HONE_OK;
  if (code != HONE_OK || source->bytes == 0) return code;
  char* const place =
      source->bytes <= kMostStagedAtEnd ? hone_internal_staging_place(&copies->staging, source->bytes) : NULL;
  return hone_internal_fetch(copies->shared, &copies->staging, hone_internal_memory_of(call->plan, i), 0,
                             is_unpacked ? source->packed : hone_internal_data(call->args[i]), source->bytes, place,
                             call->plan->stream);
}

/* The new row of a cache on the CPU. */
static int32_t fetch_row(HoneCopies* copies, const HoneCall* call, const HoneGpuCache* cache) {
  char* const data = hone_internal_data(call->args[cache->output]);
  int32_t code = HONE_OK;
  for (int64_t m = 0; m < cache->matrices && code == HONE_OK; ++m) {
    const int64_t at = (m * cache->room + call->rows) * cache->row_bytes;
    code = hone_internal_fetch(copies->shared, &copies->staging, hone_internal_memory_of(call->plan, cache->output), at,
                               data + at, cache->row_bytes,
                               hone_internal_staging_place(&copies->staging, cache->row_bytes), call->plan->stream);
  }
  return code;
}

int32_t hone_internal_fetch_outputs(HoneCopies* copies, const HoneCall* call) {
  const HoneDriver* const driver = &copies->shared->driver;
  int32_t code = HONE_OK;
  for (int32_t i = 0; i < tensors_of(call) && code == HONE_OK; ++i)
    if (is_output(call, i) && !call->plan->sources[i].staged) code = fetch_output(copies, call, i);
  for (int64_t c = 0; c < caches_of(call) && code == HONE_OK; ++c) {
    const HoneGpuCache* const cache = &call->plan->model->caches[c];
    if (hone_internal_is_copied(call, cache->output)) code = fetch_row(copies, call, cache);
  }
  return code != HONE_OK || !copies->uses_to_host
             ? code
             : driver->follow(driver->self, call->plan->stream, copies->to_host, &copies->shared->words);
}

int32_t hone_internal_finish_copies(HoneCopies* copies, const HoneCall* call) {
  int32_t code = hone_internal_staging_finish(copies->shared, &copies->staging, call->plan->stream);
  for (int32_t i = 0; i < tensors_of(call) && code == HONE_OK && !call->plan->model; ++i) {
    const HoneSource* const source = &call->plan->sources[i];
    if (!is_output(call, i) || !source->param->unpack) continue;
    const DLTensor from = packed_view(call->args[i], source);
    code = packed_by(copies, source->param->unpack, &from, call->args[i], call->rt);
  }
  return code;
}

void hone_internal_abandon_copies(HoneCopies* copies) {
  const HoneDriver* const driver = &copies->shared->driver;
  HoneWords ignored;
  if (copies->uses_to_device) driver->wait(driver->self, copies->to_device, &ignored);
  if (copies->uses_to_host) driver->wait(driver->self, copies->to_host, &ignored);
}
