#define _POSIX_C_SOURCE 200809L
#include "compiler/runtime/launcher/launcher.h"

#include <stdlib.h>
#include <string.h>

#include "compiler/runtime/launcher/caches.h"
#include "compiler/runtime/launcher/plan.h"
#include "compiler/runtime/launcher/shared.h"

/* Streams that a program keeps a plan for, each with memory of its own. */
enum { kMostStreams = 8, kAlignment = 64 };

struct HoneLauncher {
  HoneShared shared;
  HonePlan* plans; /* the one that ran last stands first */
};

#define say(...) hone_internal_say(&launcher->shared.words, __VA_ARGS__)

HoneLauncher* hone_internal_launcher_new(const HoneDriver* driver) {
  HoneLauncher* const launcher = calloc(1, sizeof *launcher);
  if (launcher) launcher->shared.driver = *driver;
  return launcher;
}

void hone_internal_launcher_free(HoneLauncher* launcher) {
  if (!launcher) return;
  while (launcher->plans) {
    HonePlan* const next = launcher->plans->next;
    hone_internal_plan_free(&launcher->shared, launcher->plans);
    launcher->plans = next;
  }
  free(launcher);
}

const HoneWords* hone_internal_launcher_words(const HoneLauncher* launcher) { return &launcher->shared.words; }

/* --- plans --- */

void hone_internal_launcher_forget(HoneLauncher* launcher, const HoneGpuProgram* program) {
  HonePlan** at = &launcher->plans;
  while (*at) {
    HonePlan* const plan = *at;
    if (plan->head != program) {
      at = &plan->next;
      continue;
    }
    *at = plan->next;
    hone_internal_plan_free(&launcher->shared, plan);
  }
}

/* Of the plans for `head` the one that ran longest ago goes, where there are too many. */
static int32_t limit_plans(HoneLauncher* launcher, const HoneGpuProgram* head) {
  HonePlan** last = NULL;
  int32_t count = 0;
  for (HonePlan** at = &launcher->plans; *at; at = &(*at)->next)
    if ((*at)->head == head) ++count, last = at;
  if (count < kMostStreams) return HONE_OK;
  const HoneDriver* const driver = &launcher->shared.driver;
  /* Its stream may be gone. */
  const int32_t code = driver->wait_for_all(driver->self, &launcher->shared.words);
  if (code != HONE_OK) return code;
  HonePlan* const plan = *last;
  *last = plan->next;
  hone_internal_plan_free(&launcher->shared, plan);
  return HONE_OK;
}

static int32_t plan_of(HoneLauncher* launcher, const HoneGpuProgram* head, void* stream, HonePlan** plan) {
  for (HonePlan** at = &launcher->plans; *at; at = &(*at)->next) {
    if ((*at)->head != head || (*at)->stream != stream) continue;
    *plan = *at;
    *at = (*plan)->next;
    (*plan)->next = launcher->plans;
    launcher->plans = *plan;
    return HONE_OK;
  }
  int32_t code = limit_plans(launcher, head);
  if (code == HONE_OK) code = hone_internal_plan_new(&launcher->shared, head, stream, plan);
  if (code != HONE_OK) return code;
  (*plan)->next = launcher->plans;
  launcher->plans = *plan;
  return HONE_OK;
}

/* --- calls --- */

/* What is run, and how. */
typedef struct Call {
  HonePlan* plan;
  const DLTensor* const* args;
  const HoneRuntime* rt;
  const HoneCallMode* mode;
  int64_t rows;
} Call;

/* Whether the call copies tensor number `i`. Of memory that is the host's and the device's nothing is copied. */
static int is_copied(const Call* call, int64_t i) { return hone_internal_is_on_cpu(call->args[i]); }

/* On the CPU in the layout of the device. */
static int32_t packed_memory(HoneLauncher* launcher, HoneSource* source) {
  if (source->packed) return HONE_OK;
  if (posix_memalign(&source->packed, kAlignment, source->bytes > 0 ? (size_t)source->bytes : 1) == 0) return HONE_OK;
  source->packed = NULL;
  return hone_internal_no_host_memory(&launcher->shared);
}

static int32_t packed_by(HoneLauncher* launcher, HoneEntry entry, const DLTensor* from, const DLTensor* to,
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

static int32_t copy_inputs(HoneLauncher* launcher, const Call* call) {
  const HoneDriver* const driver = &launcher->shared.driver;
  HonePlan* const plan = call->plan;
  int32_t code = HONE_OK;
  for (int32_t i = 0; i < plan->source_count - 1 && code == HONE_OK; ++i) {
    HoneSource* const source = &plan->sources[i];
    if (source->cache || source->param->is_output || !is_copied(call, i)) continue;
    const void* data = hone_internal_data(call->args[i]);
    if (!plan->model && source->param->pack) {
      code = packed_memory(launcher, source);
      const DLTensor to = packed_view(call->args[i], source);
      if (code == HONE_OK) code = packed_by(launcher, source->param->pack, call->args[i], &to, call->rt);
      data = source->packed;
    }
    if (code == HONE_OK && source->bytes > 0)
      code = driver->write(driver->self, hone_internal_memory_of(plan, i), 0, data, source->bytes, plan->stream,
                           &launcher->shared.words);
  }
  if (!plan->rows || code != HONE_OK) return code;
  for (int64_t c = 0; c < plan->model->cache_count && code == HONE_OK; ++c) {
    const HoneGpuCache* const cache = &plan->model->caches[c];
    if (is_copied(call, cache->output))
      code =
          hone_internal_write_rows(driver, cache, call->args[cache->output], call->rows,
                                   hone_internal_memory_of(plan, cache->output), plan->stream, &launcher->shared.words);
  }
  /* In order with the device's commands, so that an earlier call reads the number that it was given. */
  return code != HONE_OK ? code
                         : driver->write(driver->self, plan->rows, 0, &call->rows, sizeof call->rows, plan->stream,
                                         &launcher->shared.words);
}

/* Once the steps are done. */
static int32_t copy_outputs(HoneLauncher* launcher, const Call* call) {
  const HoneDriver* const driver = &launcher->shared.driver;
  HonePlan* const plan = call->plan;
  int32_t code = HONE_OK;
  for (int32_t i = 0; i < plan->source_count - 1 && code == HONE_OK; ++i) {
    HoneSource* const source = &plan->sources[i];
    if (source->cache || !source->param->is_output || !is_copied(call, i)) continue;
    const HoneEntry unpack = plan->model ? NULL : source->param->unpack;
    if (unpack) code = packed_memory(launcher, source);
    if (code == HONE_OK && source->bytes > 0)
      code = driver->read(driver->self, hone_internal_memory_of(plan, i), 0,
                          unpack ? source->packed : hone_internal_data(call->args[i]), source->bytes, plan->stream,
                          &launcher->shared.words);
    if (code != HONE_OK || !unpack) continue;
    const DLTensor from = packed_view(call->args[i], source);
    code = packed_by(launcher, unpack, &from, call->args[i], call->rt);
  }
  for (int64_t c = 0; plan->rows && c < plan->model->cache_count && code == HONE_OK; ++c) {
    const HoneGpuCache* const cache = &plan->model->caches[c];
    if (is_copied(call, cache->output))
      code = hone_internal_read_row(driver, cache, hone_internal_memory_of(plan, cache->output), call->rows,
                                    call->args[cache->output], plan->stream, &launcher->shared.words);
  }
  return code;
}

/* The caller's memory where he gives some on the device, else the plan's own. */
static int32_t take_sources(HoneLauncher* launcher, const Call* call, void* workspace) {
  const HoneDriver* const driver = &launcher->shared.driver;
  HonePlan* const plan = call->plan;
  const int32_t tensors = plan->source_count - 1;
  int32_t code = HONE_OK;
  for (int32_t i = 0; i < tensors && code == HONE_OK; ++i) {
    const HoneSource* const source = &plan->sources[i];
    if (source->is_same_as != i) continue;
    void* native = NULL;
    if (!is_copied(call, i))
      code = hone_internal_native(driver, source->param, call->args[i], &native, &launcher->shared.words);
    if (code == HONE_OK) code = hone_internal_set_source(&launcher->shared, plan, i, native);
  }
  if (code == HONE_OK && plan->sources[tensors].bytes > 0)
    code = hone_internal_set_source(&launcher->shared, plan, tensors, workspace);
  return code;
}

/* --- checks --- */

static int32_t check_head(HoneLauncher* launcher, const HoneGpuProgram* head) {
  if (head->abi_version != HONE_RUNTIME_ABI && !hone_internal_model_of(head))
    return say(HONE_BAD_ARGUMENTS, "a program of ABI version %d; this runtime has %d", (int)head->abi_version,
               HONE_RUNTIME_ABI);
  return hone_internal_check_device(&launcher->shared, head);
}

/* Weights of a file of their own may be mapped later. */
static int has_weights(const HoneGpuProgram* head) {
  const HoneGpuModel* const model = hone_internal_model_of(head);
  return !model || !hone_internal_has_newest(model) || !model->mapped_weights ||
         __atomic_load_n(model->mapped_weights, __ATOMIC_ACQUIRE);
}

int32_t hone_internal_launcher_prepare(HoneLauncher* launcher, const HoneGpuProgram* program) {
  HonePlan* plan = NULL;
  launcher->shared.words.text[0] = '\0';
  const int32_t code = check_head(launcher, program);
  return code == HONE_OK && has_weights(program) ? plan_of(launcher, program, NULL, &plan) : code;
}

static int32_t check_tensors(HoneLauncher* launcher, const HoneGpuProgram* head, const DLTensor* const* args, int32_t n,
                             HoneWhere where) {
  if (n != head->param_count || (n > 0 && !args))
    return say(HONE_BAD_ARGUMENTS, "%d tensors for %lld parameters", (int)n, (long long)head->param_count);
  const HoneGpuModel* const model = hone_internal_model_of(head);
  int32_t code = HONE_OK;
  for (int32_t i = 0; i < n && code == HONE_OK; ++i) {
    const HoneGpuParam* const p = &head->params[i];
    /* Caches have checks of their own. */
    if (model && hone_internal_cache_of(model, i)) continue;
    code = hone_internal_check_tensor(&launcher->shared.driver, p, args[i], where, &launcher->shared.words);
    if (code == HONE_OK && where == HONE_ANYWHERE && !model && (p->pack || p->unpack) &&
        !hone_internal_is_on_cpu(args[i]))
      code = say(HONE_BAD_ARGUMENTS, "parameter '%s' has a layout of its own on the device; it is taken from the CPU",
                 p->name);
  }
  return code;
}

static int has_copies(const Call* call) {
  for (int32_t i = 0; i < call->plan->source_count - 1; ++i)
    if (is_copied(call, i)) return 1;
  return 0;
}

/* What a function on the host gave is copied from the plan's memory. */
static int has_host_steps(const HonePlan* plan) {
  for (int64_t s = 0; s < plan->step_count; ++s)
    if (plan->steps[s].host) return 1;
  return 0;
}

/* --- running --- */

static int32_t prepare(HoneLauncher* launcher, const HoneGpuProgram* head, int32_t n, void* workspace, Call* call) {
  const HoneWhere where = call->mode->where;
  const HoneGpuModel* const model = hone_internal_model_of(head);
  int32_t code = check_head(launcher, head);
  if (code == HONE_OK) code = check_tensors(launcher, head, call->args, n, where);
  if (code == HONE_OK && where == HONE_ON_DEVICE && head->workspace_bytes > 0 && !workspace)
    code = say(HONE_BAD_ARGUMENTS, "no workspace; the program needs %lld bytes", (long long)head->workspace_bytes);
  if (code == HONE_OK && model)
    code = hone_internal_rows_of(&launcher->shared.driver, model, call->args, where != HONE_ON_DEVICE, &call->rows,
                                 &launcher->shared.words);
  if (code == HONE_OK) code = plan_of(launcher, head, call->mode->stream, &call->plan);
  return code == HONE_OK ? take_sources(launcher, call, workspace) : code;
}

static int32_t wait(HoneLauncher* launcher, const Call* call) {
  const HoneDriver* const driver = &launcher->shared.driver;
  return driver->wait(driver->self, call->plan->stream, &launcher->shared.words);
}

static int32_t run_part(HoneLauncher* launcher, const HoneGpuPart* part, int32_t n, Call* call) {
  int32_t code = prepare(launcher, &part->whole->head, n, NULL, call);
  if (code == HONE_OK && part->copies & HONE_GPU_COPY_INPUTS) code = copy_inputs(launcher, call);
  if (code == HONE_OK)
    code =
        hone_internal_run_steps(&launcher->shared, call->plan, part->first_step, part->first_step + part->step_count);
  if (code == HONE_OK) code = wait(launcher, call);
  return code == HONE_OK && part->copies & HONE_GPU_COPY_OUTPUTS ? copy_outputs(launcher, call) : code;
}

static int32_t run_whole(HoneLauncher* launcher, const HoneGpuProgram* head, int32_t n, void* workspace, Call* call) {
  int32_t code = prepare(launcher, head, n, workspace, call);
  if (code == HONE_OK) code = copy_inputs(launcher, call);
  if (code == HONE_OK) code = hone_internal_run_plan(&launcher->shared, call->plan);
  if (code != HONE_OK) return code;
  const int copies = has_copies(call);
  if (call->mode->is_async && !copies && !has_host_steps(call->plan)) return HONE_OK;
  code = wait(launcher, call);
  return code == HONE_OK && copies ? copy_outputs(launcher, call) : code;
}

int32_t hone_internal_launch(HoneLauncher* launcher, const HoneGpuProgram* program, const DLTensor* const* args,
                             int32_t n, void* workspace, const HoneRuntime* rt, const HoneCallMode* mode) {
  Call call = {NULL, args, rt, mode, 0};
  launcher->shared.words.text[0] = '\0';
  const int32_t code = program->abi_version == HONE_GPU_PART_ABI
                           ? run_part(launcher, (const HoneGpuPart*)program, n, &call)
                           : run_whole(launcher, program, n, workspace, &call);
  if (code != HONE_OK && call.plan) {
    /* What was sent reads and writes the caller's memory until it is done. */
    HoneWords ignored;
    const HoneDriver* const driver = &launcher->shared.driver;
    driver->wait(driver->self, call.plan->stream, &ignored);
  }
  return code;
}
