#define _POSIX_C_SOURCE 200809L
#include "compiler/runtime/launcher/plan.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/launcher/caches.h"
#include "compiler/runtime/launcher/tensors.h"

#define say(...) hone_internal_say(&shared->words, __VA_ARGS__)

enum { kAlignment = 64 };

static void* zeros(int64_t count, size_t bytes) { return calloc(count > 0 ? (size_t)count : 1, bytes); }

/* --- sources --- */

HoneMemory hone_internal_memory_of(const HonePlan* plan, int32_t s) {
  const HoneSource* const source = &plan->sources[plan->sources[s].is_same_as];
  return source->given ? source->given : source->own;
}

static int32_t own_memory(HoneShared* shared, HoneSource* source) {
  const HoneDriver* const driver = &shared->driver;
  if (source->own) return HONE_OK;
  return driver->allocate(driver->self, source->bytes > 0 ? source->bytes : 1, &source->own, &shared->words);
}

static int32_t set_argument(HoneShared* shared, HonePlanStep* step, int32_t argument, HoneMemory memory) {
  int32_t code = HONE_OK;
  step->arguments[argument] = memory;
  for (int64_t l = 0; l < step->launch_count && code == HONE_OK; ++l)
    code = shared->driver.set_argument(shared->driver.self, step->launches[l], argument, memory, &shared->words);
  return code;
}

static void release_parts(HoneShared* shared, HonePlan* plan, int32_t s) {
  for (int64_t i = 0; i < plan->slot_count; ++i) {
    HoneSlot* const slot = &plan->slots[i];
    if (slot->source != s || !slot->part) continue;
    shared->driver.release(shared->driver.self, slot->part);
    slot->part = NULL;
  }
}

static int32_t fill_slots(HoneShared* shared, HonePlan* plan, int32_t s, HoneMemory whole) {
  const HoneDriver* const driver = &shared->driver;
  int32_t code = HONE_OK;
  for (int64_t i = 0; i < plan->slot_count && code == HONE_OK; ++i) {
    HoneSlot* const slot = &plan->slots[i];
    if (slot->source != s) continue;
    /* A part at offset 0 needs no object of its own, because kernels know how much they touch. */
    HoneMemory memory = whole;
    if (slot->offset > 0) {
      HoneSlot* const first = &plan->slots[slot->is_same_as];
      if (!first->part)
        code = driver->part(driver->self, whole, slot->offset, slot->bytes, &first->part, &shared->words);
      if (code != HONE_OK) break;
      memory = first->part;
    }
    code = set_argument(shared, &plan->steps[slot->step], slot->argument, memory);
  }
  return code;
}

int32_t hone_internal_set_source(HoneShared* shared, HonePlan* plan, int32_t s, void* native) {
  const HoneDriver* const driver = &shared->driver;
  HoneSource* const source = &plan->sources[s];
  if (source->is_set && source->native == native) return HONE_OK;
  HoneMemory given = NULL;
  int32_t code = native
                     ? driver->wrap(driver->self, native, source->bytes > 0 ? source->bytes : 1, &given, &shared->words)
                     : own_memory(shared, source);
  if (code != HONE_OK) return code;
  source->is_set = 0;
  release_parts(shared, plan, s);
  if (source->given) driver->release(driver->self, source->given);
  source->given = given;
  source->native = native;
  code = fill_slots(shared, plan, s, given ? given : source->own);
  source->is_set = code == HONE_OK;
  return code;
}

/* --- making --- */

/* The weights in the place of a source's number: what lies in them never changes. */
enum { kWeights = -1 };

/* An argument at a place of a model, or at one that stands for a program's parameter or workspace. */
static int32_t add_slot(HoneShared* shared, HonePlan* plan, int64_t step, int32_t argument, const HoneGpuPlace* p) {
  const int has_memory = p->in == HONE_GPU_ROWS      ? plan->rows != NULL
                         : p->in == HONE_GPU_WEIGHTS ? plan->weights != NULL
                         : p->in == HONE_GPU_TENSOR  ? p->tensor >= 0 && p->tensor < plan->source_count - 1
                                                     : plan->sources[plan->source_count - 1].bytes > 0;
  if (!has_memory) return say(HONE_GPU_FAILED, "a model's step takes memory that the model does not have");
  if (p->in == HONE_GPU_ROWS) return set_argument(shared, &plan->steps[step], argument, plan->rows);
  HoneSlot* const slot = &plan->slots[plan->slot_count];
  slot->step = step;
  slot->argument = argument;
  slot->source = p->in == HONE_GPU_TENSOR    ? plan->sources[p->tensor].is_same_as
                 : p->in == HONE_GPU_WEIGHTS ? kWeights
                                             : plan->source_count - 1;
  slot->offset = p->offset;
  slot->bytes = p->bytes;
  slot->is_same_as = plan->slot_count;
  for (int64_t i = 0; p->offset > 0 && i < plan->slot_count; ++i) {
    const HoneSlot* const other = &plan->slots[i];
    if (other->source != slot->source || other->offset != slot->offset || other->bytes != slot->bytes) continue;
    slot->is_same_as = i;
    break;
  }
  ++plan->slot_count;
  return HONE_OK;
}

static int32_t bind_program(HoneShared* shared, HonePlan* plan, int64_t s, const HoneGpuProgram* program) {
  const HoneDriver* const driver = &shared->driver;
  HonePlanStep* const step = &plan->steps[s];
  int32_t code = hone_internal_load(shared, program, &plan->loaded[s]);
  if (code != HONE_OK) return code;
  step->launches = zeros(program->launch_count, sizeof *step->launches);
  if (!step->launches) return hone_internal_no_host_memory(shared);
  for (int64_t l = 0; l < program->launch_count && code == HONE_OK; ++l) {
    code = driver->bind(driver->self, plan->loaded[s]->loaded, &program->launches[l], step->argument_count,
                        &step->launches[l], &shared->words);
    if (code == HONE_OK) ++step->launch_count;
  }
  return code;
}

static int32_t host_buffers(HoneShared* shared, HonePlanStep* step) {
  step->on_host = zeros(step->argument_count + 1, sizeof *step->on_host);
  if (!step->on_host) return hone_internal_no_host_memory(shared);
  for (int32_t i = 0; i <= step->argument_count; ++i) {
    const int64_t bytes = i < step->argument_count ? step->places[i].bytes : step->host->workspace_bytes;
    if (posix_memalign(&step->on_host[i], kAlignment, bytes > 0 ? (size_t)bytes : 1) != 0)
      return step->on_host[i] = NULL, hone_internal_no_host_memory(shared);
  }
  return HONE_OK;
}

static int32_t make_step(HoneShared* shared, HonePlan* plan, int64_t s, int32_t arguments) {
  HonePlanStep* const step = &plan->steps[s];
  step->argument_count = arguments;
  step->arguments = zeros(arguments, sizeof *step->arguments);
  return step->arguments ? HONE_OK : hone_internal_no_host_memory(shared);
}

static int32_t make_model_steps(HoneShared* shared, HonePlan* plan) {
  const HoneGpuModel* const model = plan->model;
  int32_t code = HONE_OK;
  for (int64_t s = 0; s < plan->step_count && code == HONE_OK; ++s) {
    const HoneGpuStep* const from = &model->steps[s];
    HonePlanStep* const step = &plan->steps[s];
    code = make_step(shared, plan, s, (int32_t)from->place_count);
    if (code != HONE_OK) return code;
    step->places = from->places;
    step->host = from->program ? NULL : from->host;
    if (from->program) code = bind_program(shared, plan, s, from->program);
    if (step->host && code == HONE_OK) code = host_buffers(shared, step);
    for (int32_t i = 0; i < step->argument_count && code == HONE_OK; ++i)
      code = add_slot(shared, plan, s, i, &from->places[i]);
  }
  return code;
}

static int32_t make_program_step(HoneShared* shared, HonePlan* plan) {
  const HoneGpuProgram* const program = plan->head;
  const int32_t params = (int32_t)program->param_count, arguments = params + (program->workspace_bytes > 0 ? 1 : 0);
  int32_t code = make_step(shared, plan, 0, arguments);
  if (code == HONE_OK) code = bind_program(shared, plan, 0, program);
  for (int32_t i = 0; i < arguments && code == HONE_OK; ++i) {
    const HoneGpuPlace place = {i < params ? HONE_GPU_TENSOR : HONE_GPU_ARENA, i, 0, plan->sources[i].bytes};
    code = add_slot(shared, plan, 0, i, &place);
  }
  return code;
}

static void describe_sources(HonePlan* plan) {
  const HoneGpuProgram* const head = plan->head;
  for (int32_t i = 0; i < plan->source_count; ++i) {
    HoneSource* const source = &plan->sources[i];
    source->is_same_as = i;
    if (i == head->param_count) {
      source->bytes = head->workspace_bytes;
      continue;
    }
    source->param = &head->params[i];
    source->cache = plan->model ? hone_internal_cache_of(plan->model, i) : NULL;
    source->bytes = source->cache ? hone_internal_cache_bytes(source->cache)
                                  : (plan->model ? source->param->plain_elements : source->param->elements) *
                                        hone_internal_element_bytes(source->param);
    if (source->cache) source->is_same_as = source->cache->output;
  }
}

/* Slots are in the order of their steps. */
static void find_steps(HonePlan* plan) {
  for (int64_t i = plan->slot_count; i-- > 0;)
    if (plan->slots[i].source != kWeights) plan->sources[plan->slots[i].source].first_step = plan->slots[i].step;
  for (int64_t i = 0; i < plan->slot_count; ++i)
    if (plan->slots[i].source != kWeights) plan->sources[plan->slots[i].source].last_step = plan->slots[i].step;
}

static int32_t make_plan(HoneShared* shared, HonePlan* plan) {
  const HoneDriver* const driver = &shared->driver;
  const HoneGpuModel* const model = plan->model;
  int64_t slots = plan->source_count;
  plan->step_count = model ? model->step_count : 1;
  for (int64_t s = 0; model && s < model->step_count; ++s) slots += model->steps[s].place_count;
  plan->sources = zeros(plan->source_count, sizeof *plan->sources);
  plan->steps = zeros(plan->step_count, sizeof *plan->steps);
  plan->loaded = zeros(plan->step_count, sizeof *plan->loaded);
  plan->slots = zeros(slots, sizeof *plan->slots);
  plan->cuts = zeros(plan->step_count, sizeof *plan->cuts);
  int has_memory = plan->sources && plan->steps && plan->loaded && plan->slots && plan->cuts;
  for (int32_t i = 0; i < kHoneMostRecorded; ++i) {
    HoneRecorded* const r = &plan->recorded[i];
    r->natives = zeros(plan->source_count, sizeof *r->natives);
    r->recordings = zeros(plan->step_count, sizeof *r->recordings);
    has_memory = has_memory && r->natives && r->recordings;
  }
  if (!has_memory) return hone_internal_no_host_memory(shared);
  describe_sources(plan);
  if (!model) return make_program_step(shared, plan);
  int32_t code = hone_internal_weights_of(shared, model, &plan->weights);
  if (code == HONE_OK && hone_internal_cache_count(model) > 0)
    code = driver->allocate(driver->self, sizeof(int64_t), &plan->rows, &shared->words);
  if (code == HONE_OK) code = make_model_steps(shared, plan);
  find_steps(plan);
  return code != HONE_OK || !plan->weights ? code : fill_slots(shared, plan, kWeights, plan->weights->memory);
}

int32_t hone_internal_plan_new(HoneShared* shared, const HoneGpuProgram* head, void* stream, HonePlan** plan) {
  HonePlan* const made = calloc(1, sizeof *made);
  *plan = NULL;
  if (!made) return hone_internal_no_host_memory(shared);
  made->head = head;
  made->model = hone_internal_model_of(head);
  made->stream = stream;
  made->source_count = (int32_t)head->param_count + 1;
  made->rebinds = shared->driver.rebind != NULL;
  const int32_t code = make_plan(shared, made);
  if (code != HONE_OK)
    hone_internal_plan_free(shared, made);
  else
    *plan = made;
  return code;
}

/* --- freeing --- */

static void forget_recording(HoneShared* shared, HoneRecording* r) {
  if (r->recording) shared->driver.forget(shared->driver.self, r->recording);
  *r = (HoneRecording){NULL, 0, 0, 0};
}

static void forget_recordings(HoneShared* shared, HonePlan* plan, HoneRecorded* r) {
  for (int64_t s = 0; r->recordings && s < plan->step_count; ++s) forget_recording(shared, &r->recordings[s]);
  r->calls = 0;
}

static void free_steps(HoneShared* shared, HonePlan* plan) {
  for (int64_t s = 0; plan->steps && s < plan->step_count; ++s) {
    HonePlanStep* const step = &plan->steps[s];
    for (int64_t l = 0; l < step->launch_count; ++l) shared->driver.unbind(shared->driver.self, step->launches[l]);
    for (int32_t i = 0; step->on_host && i <= step->argument_count; ++i) free(step->on_host[i]);
    free(step->on_host);
    free(step->launches);
    free(step->arguments);
    if (plan->loaded) hone_internal_unload(shared, plan->loaded[s]);
  }
  free(plan->steps);
  free(plan->loaded);
}

static void free_memory(HoneShared* shared, HonePlan* plan) {
  const HoneDriver* const driver = &shared->driver;
  for (int64_t i = 0; plan->slots && i < plan->slot_count; ++i)
    if (plan->slots[i].part) driver->release(driver->self, plan->slots[i].part);
  for (int32_t i = 0; plan->sources && i < plan->source_count; ++i) {
    if (plan->sources[i].given) driver->release(driver->self, plan->sources[i].given);
    if (plan->sources[i].own) driver->deallocate(driver->self, plan->sources[i].own);
    free(plan->sources[i].packed);
  }
  if (plan->rows) driver->deallocate(driver->self, plan->rows);
  hone_internal_release_weights(shared, plan->weights);
  free(plan->slots);
  free(plan->cuts);
  free(plan->sources);
}

void hone_internal_plan_free(HoneShared* shared, HonePlan* plan) {
  if (!plan) return;
  for (int32_t i = 0; i < kHoneMostRecorded; ++i) {
    forget_recordings(shared, plan, &plan->recorded[i]);
    free(plan->recorded[i].natives);
    free(plan->recorded[i].recordings);
  }
  free_steps(shared, plan);
  free_memory(shared, plan);
  free(plan);
}

/* --- running --- */

/* Waits for the commands that compute the inputs. */
static int32_t call_host(HoneShared* shared, HonePlan* plan, const HonePlanStep* step) {
  const HoneDriver* const driver = &shared->driver;
  const int32_t inputs = (int32_t)step->host->input_count;
  int32_t code = driver->wait(driver->self, plan->stream, &shared->words);
  for (int32_t i = 0; i < inputs && code == HONE_OK; ++i)
    code = driver->read(driver->self, step->arguments[i], 0, step->on_host[i], step->places[i].bytes, plan->stream,
                        &shared->words);
  if (code != HONE_OK) return code;
  code = step->host->call(step->host->numbers, step->on_host, step->on_host[step->argument_count]);
  if (code == HONE_NO_RESULT) return say(code, "the model takes a branch that its shapes do not allow");
  if (code != HONE_OK) return say(HONE_GPU_FAILED, "a function on the host returned code %d", (int)code);
  /* The step's next call waits before it writes to this memory of the host. */
  for (int32_t i = inputs; i < step->argument_count && code == HONE_OK; ++i)
    code = driver->write(driver->self, step->arguments[i], 0, step->on_host[i], step->places[i].bytes, plan->stream,
                         &shared->words);
  return code;
}

static int32_t run_step(HoneShared* shared, HonePlan* plan, int64_t s, void* stream) {
  const HoneDriver* const driver = &shared->driver;
  const HonePlanStep* const step = &plan->steps[s];
  int32_t code = HONE_OK;
  if (!step->launches && !step->host)
    return driver->copy(driver->self, step->arguments[0], step->arguments[1], step->places[0].bytes, stream,
                        &shared->words);
  for (int64_t l = 0; l < step->launch_count && code == HONE_OK; ++l)
    code = driver->enqueue(driver->self, step->launches[l], stream, &shared->words);
  return code;
}

int32_t hone_internal_run_steps(HoneShared* shared, HonePlan* plan, int64_t begin, int64_t end) {
  int32_t code = HONE_OK;
  for (int64_t s = begin; s < end && code == HONE_OK; ++s)
    code = plan->steps[s].host ? call_host(shared, plan, &plan->steps[s]) : run_step(shared, plan, s, plan->stream);
  return code;
}

typedef struct Segment {
  HoneShared* shared;
  HonePlan* plan;
  int64_t begin, end;
} Segment;

static int32_t enqueue_segment(void* closure, void* stream) {
  const Segment* const g = closure;
  int32_t code = HONE_OK;
  for (int64_t s = g->begin; s < g->end && code == HONE_OK; ++s) code = run_step(g->shared, g->plan, s, stream);
  return code;
}

/* Commands that the steps send, a copy among them. */
static int64_t commands_of(const HonePlan* plan, int64_t begin, int64_t end) {
  int64_t commands = 0;
  for (int64_t s = begin; s < end; ++s) commands += plan->steps[s].launches ? plan->steps[s].launch_count : 1;
  return commands;
}

/* Where nothing can be recorded, the commands are sent one by one, and say what is wrong. */
static void record(HoneShared* shared, Segment* segment, HoneRecording* r) {
  HoneWords ignored;
  r->end = segment->end;
  if (shared->driver.record(shared->driver.self, enqueue_segment, segment, &r->recording, &ignored) != HONE_OK)
    r->recording = NULL;
  r->is_refused = !r->recording;
}

/* A driver that refuses other memory once gets no more of it. */
static void rebind(HoneShared* shared, Segment* segment, HoneRecording* r) {
  HoneWords ignored;
  r->is_old = 0;
  if (shared->driver.rebind(shared->driver.self, r->recording, enqueue_segment, segment, &ignored) == HONE_OK) return;
  forget_recording(shared, r);
  segment->plan->rebinds = 0;
  record(shared, segment, r);
}

/* Steps of the device. The first call loads programs, the second one records. */
static int32_t run_segment(HoneShared* shared, HonePlan* plan, HoneRecorded* entry, int64_t begin, int64_t end) {
  const HoneDriver* const driver = &shared->driver;
  Segment segment = {shared, plan, begin, end};
  HoneRecording* const r = &entry->recordings[begin];
  if (r->recording && r->end != end) forget_recording(shared, r);
  if (r->recording && r->is_old)
    rebind(shared, &segment, r);
  else if (entry->calls > 1 && !r->recording && !r->is_refused && commands_of(plan, begin, end) > 1)
    record(shared, &segment, r);
  return r->recording ? driver->replay(driver->self, r->recording, plan->stream, &shared->words)
                      : enqueue_segment(&segment, plan->stream);
}

static int has_same_memory(const HonePlan* plan, const HoneRecorded* r) {
  for (int32_t s = 0; s < plan->source_count; ++s)
    if (r->natives[s] != plan->sources[s].native) return 0;
  return 1;
}

/* Whether the caller gave memory for the same sources. */
static int has_same_sources(const HonePlan* plan, const HoneRecorded* r) {
  for (int32_t s = 0; s < plan->source_count; ++s)
    if (!r->natives[s] != !plan->sources[s].native) return 0;
  return 1;
}

static void take_memory(const HonePlan* plan, HoneRecorded* r) {
  for (int32_t s = 0; s < plan->source_count; ++s) r->natives[s] = plan->sources[s].native;
}

/* The entry of a call with the sources as they are: an old one, or the one that was used longest ago. */
static HoneRecorded* recorded_of(HoneShared* shared, HonePlan* plan) {
  HoneRecorded *oldest = &plan->recorded[0], *found = NULL;
  ++plan->calls;
  for (int32_t i = 0; i < kHoneMostRecorded && !found; ++i) {
    HoneRecorded* const r = &plan->recorded[i];
    if (r->calls > 0 && has_same_memory(plan, r)) found = r;
    if (r->last_used < oldest->last_used) oldest = r;
  }
  for (int32_t i = 0; i < kHoneMostRecorded && !found && plan->rebinds; ++i) {
    HoneRecorded* const r = &plan->recorded[i];
    if (r->calls == 0 || !has_same_sources(plan, r)) continue;
    found = r;
    take_memory(plan, r);
    for (int64_t s = 0; s < plan->step_count; ++s) r->recordings[s].is_old = 1;
  }
  if (!found) {
    found = oldest;
    forget_recordings(shared, plan, found);
    take_memory(plan, found);
  }
  found->last_used = plan->calls;
  if (found->calls < 2) ++found->calls;
  return found;
}

/* A launch takes the host as long as many a layer takes the device: one command in the place of many. */
int32_t hone_internal_run_plan(HoneShared* shared, HonePlan* plan, const HoneBetween* between) {
  HoneRecorded* const r = recorded_of(shared, plan);
  int32_t code = HONE_OK;
  for (int64_t begin = 0; begin < plan->step_count && code == HONE_OK;) {
    if (plan->cuts[begin]) code = between->copy(between->closure, begin);
    if (code != HONE_OK) break;
    if (plan->steps[begin].host) {
      code = call_host(shared, plan, &plan->steps[begin++]);
      continue;
    }
    int64_t end = begin + 1;
    while (end < plan->step_count && !plan->steps[end].host && !plan->cuts[end]) ++end;
    code = run_segment(shared, plan, r, begin, end);
    begin = end;
  }
  return code;
}
