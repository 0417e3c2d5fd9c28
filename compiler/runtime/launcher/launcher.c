#include "compiler/runtime/launcher/launcher.h"

#include <stdlib.h>

#include "compiler/runtime/launcher/caches.h"
#include "compiler/runtime/launcher/copies.h"
#include "compiler/runtime/launcher/plan.h"
#include "compiler/runtime/launcher/shared.h"

/* Streams that a program keeps a plan for, each with memory of its own. */
enum { kMostStreams = 8 };

struct HoneLauncher {
  HoneShared shared;
  HoneCopies copies;
  HonePlan* plans; /* the one that ran last stands first */
};

#define say(...) hone_internal_say(&launcher->shared.words, __VA_ARGS__)

HoneLauncher* hone_internal_launcher_new(const HoneDriver* driver) {
  HoneLauncher* const launcher = calloc(1, sizeof *launcher);
  if (!launcher) return NULL;
  launcher->shared.driver = *driver;
  launcher->copies.shared = &launcher->shared;
  return launcher;
}

void hone_internal_launcher_free(HoneLauncher* launcher) {
  if (!launcher) return;
  while (launcher->plans) {
    HonePlan* const next = launcher->plans->next;
    hone_internal_plan_free(&launcher->shared, launcher->plans);
    launcher->plans = next;
  }
  hone_internal_copies_free(&launcher->copies);
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

/* Frees the plan for `head` that ran longest ago, where there are too many. */
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

/* The caller's memory where he gives some on the device, else the plan's own. */
static int32_t take_sources(HoneLauncher* launcher, const HoneCall* call, void* workspace) {
  const HoneDriver* const driver = &launcher->shared.driver;
  HonePlan* const plan = call->plan;
  const int32_t tensors = plan->source_count - 1;
  int32_t code = HONE_OK;
  for (int32_t i = 0; i < tensors && code == HONE_OK; ++i) {
    const HoneSource* const source = &plan->sources[i];
    if (source->is_same_as != i) continue;
    void* native = NULL;
    if (!hone_internal_is_copied(call, i))
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

static int has_copies(const HoneCall* call) {
  for (int32_t i = 0; i < call->plan->source_count - 1; ++i)
    if (hone_internal_is_copied(call, i)) return 1;
  return 0;
}

/* Results of functions on the host are copied from the plan's memory. */
static int has_host_steps(const HonePlan* plan) {
  for (int64_t s = 0; s < plan->step_count; ++s)
    if (plan->steps[s].host) return 1;
  return 0;
}

/* --- running --- */

static int32_t prepare(HoneLauncher* launcher, const HoneGpuProgram* head, int32_t n, void* workspace, HoneCall* call) {
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

static int32_t wait(HoneLauncher* launcher, const HoneCall* call) {
  const HoneDriver* const driver = &launcher->shared.driver;
  return driver->wait(driver->self, call->plan->stream, &launcher->shared.words);
}

static int32_t copy_outputs(HoneLauncher* launcher, const HoneCall* call) {
  int32_t code = hone_internal_fetch_outputs(&launcher->copies, call);
  if (code == HONE_OK) code = wait(launcher, call);
  return code == HONE_OK ? hone_internal_finish_copies(&launcher->copies, call) : code;
}

static int32_t run_part(HoneLauncher* launcher, const HoneGpuPart* part, int32_t n, HoneCall* call) {
  int32_t code = prepare(launcher, &part->whole->head, n, NULL, call);
  if (code == HONE_OK && part->copies)
    code = hone_internal_begin_copies(&launcher->copies, call, (int32_t)part->copies, 0);
  if (code == HONE_OK)
    code =
        hone_internal_run_steps(&launcher->shared, call->plan, part->first_step, part->first_step + part->step_count);
  if (code == HONE_OK) code = wait(launcher, call);
  return code == HONE_OK && part->copies & HONE_GPU_COPY_OUTPUTS ? copy_outputs(launcher, call) : code;
}

/* A call, with its launcher. */
typedef struct Running {
  HoneLauncher* launcher;
  const HoneCall* call;
} Running;

static int32_t copy_between(void* closure, int64_t step) {
  const Running* const r = closure;
  return hone_internal_copy_between(&r->launcher->copies, r->call, step);
}

static int32_t run_whole(HoneLauncher* launcher, const HoneGpuProgram* head, int32_t n, void* workspace,
                         HoneCall* call) {
  Running running = {launcher, call};
  const HoneBetween between = {copy_between, &running};
  int32_t code = prepare(launcher, head, n, workspace, call);
  if (code == HONE_OK)
    code = hone_internal_begin_copies(&launcher->copies, call, HONE_GPU_COPY_INPUTS | HONE_GPU_COPY_OUTPUTS, 1);
  if (code == HONE_OK) code = hone_internal_run_plan(&launcher->shared, call->plan, &between);
  if (code != HONE_OK) return code;
  if (has_copies(call)) return copy_outputs(launcher, call);
  return call->mode->is_async && !has_host_steps(call->plan) ? HONE_OK : wait(launcher, call);
}

int32_t hone_internal_launch(HoneLauncher* launcher, const HoneGpuProgram* program, const DLTensor* const* args,
                             int32_t n, void* workspace, const HoneRuntime* rt, const HoneCallMode* mode) {
  HoneCall call = {NULL, args, rt, mode, 0};
  launcher->shared.words.text[0] = '\0';
  const int32_t code = program->abi_version == HONE_GPU_PART_ABI
                           ? run_part(launcher, (const HoneGpuPart*)program, n, &call)
                           : run_whole(launcher, program, n, workspace, &call);
  if (code != HONE_OK && call.plan) {
    /* Commands that were sent use the caller's memory until they are done. */
    HoneWords ignored;
    const HoneDriver* const driver = &launcher->shared.driver;
    driver->wait(driver->self, call.plan->stream, &ignored);
    hone_internal_abandon_copies(&launcher->copies);
  }
  return code;
}
