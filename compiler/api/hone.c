#define _GNU_SOURCE
#include "compiler/api/hone.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/api/cpu_features.h"
#include "compiler/api/find_gpu.h"
#include "compiler/api/last_error.h"
#include "compiler/api/load.h"
#include "compiler/api/shared_object.h"
#include "compiler/runtime/pool/pool.h"
#include "compiler/runtime/variants/variants.h"

enum { kAlignment = 64, kMostName = 256 };

#define fail hone_fail

/* A call's own memory. */
typedef struct HoneContext {
  struct HoneContext* next;
  void* workspace;       /* null: none is needed */
  const DLTensor** args; /* as many as a variant has parameters */
} HoneContext;

struct HoneModel {
  void* library; /* dlopen's; null: the artifact is part of the program */
  const HoneArtifact* artifact;
  int32_t* params; /* numbers of the inputs among a variant's parameters, then of the outputs */
  int32_t input_count, output_count;
  size_t workspace_bytes; /* of the variant that needs most */
  HoneLayer* wholes;      /* each variant as one layer */
  pthread_mutex_t mutex;  /* guards `idle`; of the GPU's members the making */
  HoneContext* idle;
  /* Artifacts for GPUs: runs calls that bring no GPU of their own; null until there is one. */
  const HoneRuntime* gpu;
  HoneRuntime* own_gpu; /* `gpu`, where it is to be freed */
  HoneGpuDevice* device;
};

/* --- contexts --- */

static void free_context(HoneContext* c) {
  free(c->workspace);
  free(c->args);
  free(c);
}

static HoneContext* new_context(const HoneModel* m) {
  HoneContext* const c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->args = calloc((size_t)m->artifact->variants->param_count + 1, sizeof *c->args);
  if (!c->args || (m->workspace_bytes > 0 && posix_memalign(&c->workspace, kAlignment, m->workspace_bytes) != 0)) {
    free_context(c);
    return NULL;
  }
  return c;
}

/* Nobody waits for the mutex: in the child of a fork() it may be held for ever. */
static HoneContext* take_context(HoneModel* m) {
  HoneContext* c = NULL;
  if (pthread_mutex_trylock(&m->mutex) == 0) {
    c = m->idle;
    if (c) m->idle = c->next;
    pthread_mutex_unlock(&m->mutex);
  }
  return c ? c : new_context(m);
}

static void give_back_context(HoneModel* m, HoneContext* c) {
  if (pthread_mutex_trylock(&m->mutex) != 0) {
    free_context(c);
    return;
  }
  c->next = m->idle;
  m->idle = c;
  pthread_mutex_unlock(&m->mutex);
}

/* --- opening and closing --- */

static int is_known(const HoneArtifact* a) {
  return a->abi_version >= HONE_ARTIFACT_ABI_OLDEST && a->abi_version <= HONE_ARTIFACT_ABI;
}

static int32_t check_artifact(const HoneArtifact* a, const char* where) {
  if (!a) return fail(HONE_NO_ARTIFACT, "%s: there is no artifact", where);
  if (!is_known(a))
    return fail(HONE_WRONG_VERSION, "%s: the artifact is of version %d, this library knows %d to %d", where,
                (int)a->abi_version, HONE_ARTIFACT_ABI_OLDEST, HONE_ARTIFACT_ABI);
  if (a->variant_count < 1 || !a->variants) return fail(HONE_NO_ARTIFACT, "%s: the artifact has no variant", where);
  for (int32_t v = 1; v < a->variant_count; ++v) {
    const HoneVariant *const first = a->variants, *const other = &a->variants[v];
    int is_same = other->param_count == first->param_count;
    for (int32_t i = 0; is_same && i < first->param_count; ++i)
      is_same = other->params[i].role == first->params[i].role;
    if (!is_same) return fail(HONE_NO_ARTIFACT, "%s: the artifact's variants differ in more than shapes", where);
  }
  return HONE_OK;
}

static void list_params(HoneModel* m) {
  const HoneVariant* const first = m->artifact->variants;
  for (int32_t i = 0; i < first->param_count; ++i)
    if (first->params[i].role != HONE_OUTPUT) m->params[m->input_count++] = i;
  for (int32_t i = 0; i < first->param_count; ++i)
    if (first->params[i].role == HONE_OUTPUT) m->params[m->input_count + m->output_count++] = i;
}

/* Null: the variant does not tell its layers apart. */
static const HoneLayers* layers_of(const HoneVariant* v) {
  const HoneLayers* layers = NULL;
  return v->run(NULL, HONE_ASK_LAYERS, &layers, NULL) == HONE_OK ? layers : NULL;
}

/* A model over `library`, which it closes in the end, here too where it fails. */
static int32_t open_artifact(const HoneArtifact* artifact, const char* where, void* library, HoneModel** model) {
  const int32_t code = check_artifact(artifact, where);
  HoneModel* const m = code == HONE_OK ? calloc(1, sizeof *m) : NULL;
  if (!m) {
    if (library) dlclose(library);
    return code == HONE_OK ? fail(HONE_NO_MEMORY, "%s: no memory", where) : code;
  }
  m->library = library;
  m->artifact = artifact;
  pthread_mutex_init(&m->mutex, NULL);
  m->params = calloc((size_t)artifact->variants->param_count + 1, sizeof *m->params);
  m->wholes = calloc((size_t)artifact->variant_count, sizeof *m->wholes);
  if (!m->params || !m->wholes) {
    hone_close(m);
    return fail(HONE_NO_MEMORY, "%s: no memory", where);
  }
  list_params(m);
  for (int32_t i = 0; i < artifact->variant_count; ++i) {
    const HoneVariant* const v = &artifact->variants[i];
    if (v->run_workspace_bytes > 0 && (size_t)v->run_workspace_bytes > m->workspace_bytes)
      m->workspace_bytes = (size_t)v->run_workspace_bytes;
    m->wholes[i] = (HoneLayer){artifact->name, "", v->run};
  }
  *model = m;
  return HONE_OK;
}

/* --- GPUs --- */

static int is_for_gpu(const HoneModel* m) { return m->artifact->variants->gpu != NULL; }

/* Opens the GPU that models share. */
static int32_t take_gpu(HoneModel* m, const char* where) {
  char words[1200];
  const HoneGpuLibrary* const library = hone_find_gpu(words, sizeof words);
  if (!library)
    return fail(HONE_NO_GPU, "%s is for a GPU ('%s'), and libhone_gpu, which runs it there, is not installed: %s",
                where, m->artifact->target, words);
  int32_t code = library->take(m->artifact->variants->gpu, &m->device);
  if (code == HONE_OK) code = library->runtime_new(m->device, NULL, NULL, 0, &m->own_gpu);
  if (code != HONE_OK)
    return fail(code, "%s is for a GPU ('%s'): %s", where, m->artifact->target, library->last_error());
  __atomic_store_n(&m->gpu, m->own_gpu, __ATOMIC_RELEASE);
  return HONE_OK;
}

static void give_back_gpu(HoneModel* m) {
  const HoneGpuLibrary* const library = is_for_gpu(m) ? hone_found_gpu() : NULL;
  if (!library) return;
  for (int32_t v = 0; v < m->artifact->variant_count; ++v) library->forget(m->artifact->variants[v].gpu);
  if (m->own_gpu) library->runtime_free(m->own_gpu);
  if (m->device) library->give_back(m->device);
}

/* The runtime of a call: with the caller's GPU, else with the model's and the caller's threads. `made`: to be
   freed after the call, or null. */
static int32_t gpu_runtime(HoneModel* m, const HoneRuntime* pool, const HoneRuntime** runtime, HoneRuntime** made) {
  *made = NULL;
  *runtime = pool;
  if (pool && pool->abi_version >= HONE_RUNTIME_ABI && pool->gpu) return HONE_OK;
  int32_t code = HONE_OK;
  if (!__atomic_load_n(&m->gpu, __ATOMIC_ACQUIRE)) {
    pthread_mutex_lock(&m->mutex);
    if (!m->gpu) code = take_gpu(m, m->artifact->name);
    pthread_mutex_unlock(&m->mutex);
  }
  *runtime = m->gpu;
  if (code != HONE_OK || !pool || !m->device) return code;
  char words[1200];
  const HoneGpuLibrary* const library = hone_find_gpu(words, sizeof words);
  code = library->runtime_new(m->device, pool, NULL, 0, made);
  *runtime = *made;
  return code == HONE_OK ? code : fail(code, "%s: %s", m->artifact->name, library->last_error());
}

/* NAME of libNAME.so; empty: too long. */
static void name_of_file(const char* path, char name[kMostName]) {
  const char* const slash = strrchr(path, '/');
  const char* begin = slash ? slash + 1 : path;
  if (strncmp(begin, "lib", 3) == 0 && begin[3] != '\0' && begin[3] != '.') begin += 3;
  const size_t length = strcspn(begin, ".");
  name[0] = '\0';
  if (length < kMostName) snprintf(name, kMostName, "%.*s", (int)length, begin);
}

static void* symbol(void* library, const char* name, const char* suffix) {
  char full[kMostName + 16];
  const int length = snprintf(full, sizeof full, "%s%s", name, suffix);
  return length > 0 && (size_t)length < sizeof full ? dlsym(library, full) : NULL;
}

/* Weights in a file of their own lie beside the artifact. */
static int32_t map_weights(void* library, const HoneArtifact* artifact, const char* path) {
  int32_t (*map)(const char*) = NULL;
  *(void**)&map = symbol(library, artifact->name, "_weights");
  const char* const file = symbol(library, artifact->name, "_weights_file");
  if (!map || !file) return HONE_OK;
  char beside[4096];
  const char* const slash = strrchr(path, '/');
  const int length = snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, file);
  if (length < 0 || (size_t)length >= sizeof beside) return fail(HONE_NOT_FOUND, "the path is too long");
  const int32_t code = map(beside);
  if (code == HONE_OK) return HONE_OK;
  if (HONE_WHAT_IS_WRONG(code) == HONE_WEIGHTS_UNREADABLE)
    return fail(HONE_NOT_FOUND, "'%s': %s: %s", beside, artifact->error(code), strerror(errno));
  return fail(code, "'%s': %s", beside, artifact->error(code));
}

/* Instructions that the CPU does not have end the process. Older artifacts do not say what they need. */
static int32_t check_cpu(void* library, const HoneArtifact* artifact, const char* path) {
  if (!is_known(artifact)) return HONE_OK;
  const char* const needed = symbol(library, artifact->name, "_cpu");
  char missing[256] = "";
  if (needed) hone_missing_features(needed, missing, sizeof missing);
  if (missing[0] == '\0') return HONE_OK;
  return fail(HONE_WRONG_MACHINE, "'%s' is for a CPU that has %s; this one has not (it was built with --target '%s')",
              path, missing, artifact->target);
}

/* Weights and GPU of an artifact whose file was opened. `runtime`: the caller's GPU; null: one is looked for. */
static int32_t make_ready(HoneModel* m, void* library, const char* path, const HoneRuntime* runtime) {
  const int32_t mapped = map_weights(library, m->artifact, path);
  if (mapped != HONE_OK || !is_for_gpu(m)) return mapped;
  char where[300];
  snprintf(where, sizeof where, "'%.290s'", path);
  m->gpu = runtime;
  return runtime ? HONE_OK : take_gpu(m, where);
}

/* dlopen()s the file. */
static int32_t load_path(const char* path, void** library) {
  char words[384], with_folder[4096];
  const int32_t code = hone_check_shared_object(path, words, sizeof words);
  if (code != HONE_OK) return fail(code, "'%s' %s", path, words);
  /* A name without a slash would be searched for in the system's folders. */
  const int length = snprintf(with_folder, sizeof with_folder, "%s%s", strchr(path, '/') ? "" : "./", path);
  if (length < 0 || (size_t)length >= sizeof with_folder) return fail(HONE_NOT_FOUND, "the path is too long");
  *library = hone_load(with_folder);
  if (*library) return HONE_OK;
  const char* const why = dlerror();
  return fail(HONE_NO_ARTIFACT, "'%s' cannot be loaded: %s", path, why ? why : "no reason is known");
}

/* Null: the file is no library of several artifacts that this version knows. */
static const HoneLibrary* library_in(void* library) {
  const HoneLibrary* const l = dlsym(library, "hone_this_library");
  return l && l->abi_version == HONE_LIBRARY_ABI ? l : NULL;
}

/* That a library is not opened as one artifact. */
static int32_t name_one_of(const HoneLibrary* l, const char* path) {
  char names[512] = "";
  size_t end = 0;
  for (int32_t i = 0; i < l->count && end < sizeof names; ++i)
    end += (size_t)snprintf(names + end, sizeof names - end, "%s%s", i ? ", " : "", l->artifacts[i]->name);
  return fail(HONE_NO_ARTIFACT, "'%s' is a library of %d artifacts, which are opened by name: %s", path, (int)l->count,
              names);
}

/* `name` null: the artifact there is. */
static int32_t open_path(const char* path, const char* name, const HoneRuntime* runtime, HoneModel** model) {
  char of_file[kMostName];
  void* library = NULL;
  const int32_t loaded = load_path(path, &library);
  if (loaded != HONE_OK) return loaded;
  if (!name && library_in(library)) {
    const int32_t refused = name_one_of(library_in(library), path);
    dlclose(library);
    return refused;
  }
  const HoneArtifact* artifact = name ? NULL : dlsym(library, "hone_this_artifact");
  if (!artifact) {
    if (!name) {
      name_of_file(path, of_file);
      name = of_file;
    }
    artifact = symbol(library, name, "_artifact");
  }
  if (artifact) {
    const int32_t runs = check_cpu(library, artifact, path);
    if (runs != HONE_OK) {
      dlclose(library);
      return runs;
    }
    const int32_t opened = open_artifact(artifact, path, library, model);
    if (opened != HONE_OK) return opened;
    const int32_t ready = make_ready(*model, library, path, runtime);
    if (ready == HONE_OK) return HONE_OK;
    hone_close(*model);
    *model = NULL;
    return ready;
  }
  const int is_old = symbol(library, name, "_plain") && symbol(library, name, "_json");
  dlclose(library);
  if (is_old)
    return fail(HONE_WRONG_VERSION,
                "'%s': the artifact %s is of a version before %d and does not describe itself: build it anew", path,
                name, HONE_ARTIFACT_ABI_OLDEST);
  return fail(HONE_NO_ARTIFACT, "'%s' has no artifact '%s'", path, name);
}

int32_t hone_open(const char* path, HoneModel** model) {
  if (model) *model = NULL;
  if (!path || !model) return fail(HONE_BAD_ARGUMENTS, "hone_open: a path and a place for the model are needed");
  return open_path(path, NULL, NULL, model);
}

int32_t hone_open_named(const char* path, const char* name, HoneModel** model) {
  if (model) *model = NULL;
  if (!path || !name || !model)
    return fail(HONE_BAD_ARGUMENTS, "hone_open_named: a path, a name and a place for the model are needed");
  return open_path(path, name, NULL, model);
}

int32_t hone_names(const char* path, void (*tell)(void* data, const char* name), void* data) {
  if (!path || !tell) return fail(HONE_BAD_ARGUMENTS, "hone_names: a path and a function are needed");
  void* library = NULL;
  const int32_t loaded = load_path(path, &library);
  if (loaded != HONE_OK) return loaded;
  const HoneLibrary* const l = library_in(library);
  if (l)
    for (int32_t i = 0; i < l->count; ++i) tell(data, l->artifacts[i]->name);
  const int is_library = l != NULL;
  dlclose(library);
  return is_library ? HONE_OK : fail(HONE_NO_ARTIFACT, "'%s' is no library of several artifacts", path);
}

int32_t hone_open_on(const char* path, const char* name, const HoneRuntime* runtime, HoneModel** model) {
  if (model) *model = NULL;
  if (!path || !runtime || !model)
    return fail(HONE_BAD_ARGUMENTS, "hone_open_on: a path, a runtime and a place for the model are needed");
  return open_path(path, name, runtime, model);
}

int32_t hone_open_linked(const HoneArtifact* artifact, HoneModel** model) {
  if (model) *model = NULL;
  if (!model) return fail(HONE_BAD_ARGUMENTS, "hone_open_linked: a place for the model is needed");
  return open_artifact(artifact, "hone_open_linked", NULL, model);
}

void hone_close(HoneModel* m) {
  if (!m) return;
  while (m->idle) {
    HoneContext* const next = m->idle->next;
    free_context(m->idle);
    m->idle = next;
  }
  give_back_gpu(m);
  pthread_mutex_destroy(&m->mutex);
  free(m->params);
  free(m->wholes);
  if (m->library) dlclose(m->library);
  free(m);
}

/* --- what there is --- */

const HoneArtifact* hone_artifact(const HoneModel* m) { return m->artifact; }
struct HoneGpuDevice* hone_device(const HoneModel* m) {
  return m->device;
}
int32_t hone_input_count(const HoneModel* m) { return m->input_count; }
int32_t hone_output_count(const HoneModel* m) { return m->output_count; }

int32_t hone_variant_count(const HoneModel* m) { return m->artifact->variant_count; }
const HoneVariant* hone_variant(const HoneModel* m, int32_t v) {
  return v >= 0 && v < m->artifact->variant_count ? &m->artifact->variants[v] : NULL;
}

const HoneParam* hone_variant_input(const HoneModel* m, int32_t variant, int32_t i) {
  const HoneVariant* const v = hone_variant(m, variant);
  return v && i >= 0 && i < m->input_count ? &v->params[m->params[i]] : NULL;
}
const HoneParam* hone_variant_output(const HoneModel* m, int32_t variant, int32_t i) {
  const HoneVariant* const v = hone_variant(m, variant);
  return v && i >= 0 && i < m->output_count ? &v->params[m->params[m->input_count + i]] : NULL;
}
const HoneParam* hone_input(const HoneModel* m, int32_t i) { return hone_variant_input(m, 0, i); }
const HoneParam* hone_output(const HoneModel* m, int32_t i) { return hone_variant_output(m, 0, i); }

/* A variant that does not tell its layers apart is one. */
static HoneLayers timed_layers(const HoneModel* m, int32_t variant) {
  const HoneLayers* const told = layers_of(&m->artifact->variants[variant]);
  return told ? *told : (HoneLayers){1, &m->wholes[variant]};
}

int32_t hone_variant_layer_count(const HoneModel* m, int32_t variant) {
  return hone_variant(m, variant) ? timed_layers(m, variant).count : 0;
}
const HoneLayer* hone_variant_layer(const HoneModel* m, int32_t variant, int32_t i) {
  if (i < 0 || i >= hone_variant_layer_count(m, variant)) return NULL;
  return &timed_layers(m, variant).layers[i];
}
int32_t hone_layer_count(const HoneModel* m) { return hone_variant_layer_count(m, 0); }
const HoneLayer* hone_layer(const HoneModel* m, int32_t i) { return hone_variant_layer(m, 0, i); }

/* --- running --- */

/* Puts the tensors in the order of a variant's parameters. */
static void arrange(const HoneModel* m, const DLTensor* const* inputs, const DLTensor* const* outputs,
                    const DLTensor** args) {
  for (int32_t i = 0; i < m->input_count; ++i) args[m->params[i]] = inputs[i];
  for (int32_t i = 0; i < m->output_count; ++i) args[m->params[m->input_count + i]] = outputs[i];
}

static int32_t workers_of(const HoneRuntime* pool) { return pool ? pool->workers : 1; }

/* The variant that a call runs, and the context that it holds until `finish`. */
typedef struct Call {
  const HoneVariant* variant;
  int32_t number; /* of the variant */
  HoneContext* context;
  const HoneRuntime* pool; /* of artifacts for GPUs with the GPU */
  HoneRuntime* made;       /* for this call alone */
} Call;

/* Where it fails, `call` has no variant. */
static int32_t begin(HoneModel* m, const DLTensor* const* inputs, int32_t input_count, const DLTensor* const* outputs,
                     int32_t output_count, const HoneRuntime* pool, Call* call) {
  const char* const name = m->artifact->name;
  if (input_count != m->input_count || output_count != m->output_count || (!inputs && input_count > 0) ||
      (!outputs && output_count > 0))
    return fail(HONE_BAD_ARGUMENTS | HONE_WRONG_COUNT << 8, "%s takes %d inputs and %d outputs, given were %d and %d",
                name, (int)m->input_count, (int)m->output_count, inputs ? (int)input_count : 0,
                outputs ? (int)output_count : 0);
  HoneContext* const c = take_context(m);
  if (!c) return fail(HONE_NO_MEMORY, "%s: no memory for a workspace of %zu bytes", name, m->workspace_bytes);
  arrange(m, inputs, outputs, c->args);
  const HoneArtifact* const a = m->artifact;
  const int32_t number = hone_internal_pick_variant(a->variants, a->variant_count, c->args, workers_of(pool));
  Call made = {&a->variants[number], number, c, pool, NULL};
  const int32_t code = is_for_gpu(m) ? gpu_runtime(m, pool, &made.pool, &made.made) : HONE_OK;
  if (code != HONE_OK)
    give_back_context(m, c);
  else
    *call = made;
  return code;
}

static int32_t run_entry(const Call* c, HoneEntry entry) {
  return entry(c->context->args, c->variant->param_count, c->context->workspace, c->pool);
}

/* `; given is [41, 16]` of a tensor that should have `wanted` dimensions; empty: it has no shape. Where `ndim` is
   larger than wanted, no extent is read: `shape` may end before. */
static void shape_words(const DLTensor* t, int32_t wanted, char* words, size_t room) {
  words[0] = '\0';
  if (!t || t->ndim < 0 || (t->ndim > 0 && !t->shape)) return;
  if (t->ndim > wanted) {
    snprintf(words, room, "; given are %d dimensions", (int)t->ndim);
    return;
  }
  size_t length = (size_t)snprintf(words, room, "; given is [");
  for (int32_t d = 0; d < t->ndim && length < room; ++d)
    length += (size_t)snprintf(words + length, room - length, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
  if (length < room) snprintf(words + length, room - length, "]");
}

/* The artifact's sentence, which knows what was wanted, and of a wrong shape what was given. */
static int32_t refuse(const HoneModel* m, int32_t code, const HoneVariant* v, const DLTensor* t) {
  char given[256] = "";
  const int32_t tensor = HONE_WRONG_TENSOR(code);
  if (HONE_WHAT_IS_WRONG(code) == HONE_WRONG_SHAPE)
    shape_words(t, v->params[tensor - 1].plain.ndim, given, sizeof given);
  return fail(code, "%s%s", m->artifact->error(code), given);
}

/* All of the variant. */
static int32_t run_variant(const Call* c) {
  const HoneGpuLibrary* const library = c->variant->gpu ? hone_gpu_of(c->pool) : NULL;
  if (library) return library->call(c->pool, c->variant, c->context->args);
  return run_entry(c, c->variant->run);
}

/* With the GPU library's message, where it says more than the code. */
static int32_t fail_on_gpu(const HoneModel* m, const Call* call, int32_t code) {
  const HoneGpuLibrary* const library = call->variant->gpu ? hone_gpu_of(call->pool) : NULL;
  const char* const why = library ? library->last_error() : "";
  return fail(code, "%s%s%s", why[0] ? m->artifact->name : m->artifact->error(code), why[0] ? ": " : "", why);
}

static int32_t finish(HoneModel* m, const Call* call, int32_t code) {
  const int32_t tensor = (code & 0xff) == HONE_BAD_ARGUMENTS ? HONE_WRONG_TENSOR(code) : 0;
  const int is_known = tensor > 0 && tensor <= call->variant->param_count;
  if (is_known)
    refuse(m, code, call->variant, call->context->args[tensor - 1]);
  else if (code != HONE_OK)
    fail_on_gpu(m, call, code);
  if (call->made) hone_found_gpu()->runtime_free(call->made);
  give_back_context(m, call->context);
  return code;
}

int32_t hone_run(HoneModel* m, const DLTensor* const* inputs, int32_t input_count, const DLTensor* const* outputs,
                 int32_t output_count, const HoneRuntime* pool) {
  Call call = {NULL, 0, NULL, NULL, NULL};
  const int32_t code = begin(m, inputs, input_count, outputs, output_count, pool, &call);
  return call.variant ? finish(m, &call, run_variant(&call)) : code;
}

int32_t hone_find_variant(const HoneModel* m, const DLTensor* const* inputs, int32_t input_count,
                          const HoneRuntime* pool) {
  const char* const name = m->artifact->name;
  if (input_count != m->input_count || (!inputs && input_count > 0)) {
    fail(HONE_BAD_ARGUMENTS, "%s takes %d inputs, given were %d", name, (int)m->input_count,
         inputs ? (int)input_count : 0);
    return -1;
  }
  int32_t best = -1, most = 0;
  for (int32_t v = 0; v < m->artifact->variant_count; ++v) {
    const HoneVariant* const variant = &m->artifact->variants[v];
    int32_t fitting = 0;
    while (fitting < input_count &&
           hone_internal_has_shape(inputs[fitting], &variant->params[m->params[fitting]].plain))
      ++fitting;
    if (fitting > most) most = fitting;
    if (fitting < input_count) continue;
    if (variant->workers <= workers_of(pool)) return v;
    if (best < 0) best = v;
  }
  if (best >= 0) return best;
  const int32_t wrong = HONE_BAD_ARGUMENTS | HONE_WRONG_SHAPE << 8 | (m->params[most] + 1) << 16;
  refuse(m, wrong, m->artifact->variants, inputs[most]);
  return -1;
}

static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int32_t hone_run_timed(HoneModel* m, const DLTensor* const* inputs, int32_t input_count, const DLTensor* const* outputs,
                       int32_t output_count, const HoneRuntime* pool, double* seconds, int32_t layer_count) {
  Call call = {NULL, 0, NULL, NULL, NULL};
  int32_t code = begin(m, inputs, input_count, outputs, output_count, pool, &call);
  if (!call.variant) return code;
  const HoneLayers layers = timed_layers(m, call.number);
  if (layer_count != layers.count || (!seconds && layer_count > 0)) {
    if (call.made) hone_found_gpu()->runtime_free(call.made);
    give_back_context(m, call.context);
    return fail(HONE_BAD_ARGUMENTS, "%s has %d layers, given was room for the times of %d", m->artifact->name,
                (int)layers.count, seconds ? (int)layer_count : 0);
  }
  /* This one checks the tensors, which layers trust. */
  code = run_variant(&call);
  double before = seconds_now();
  for (int32_t i = 0; i < layers.count && code == HONE_OK; ++i) {
    const HoneEntry entry = layers.layers[i].run;
    code = entry == call.variant->run ? run_variant(&call) : run_entry(&call, entry);
    const double after = seconds_now();
    seconds[i] = after - before;
    before = after;
  }
  return finish(m, &call, code);
}

/* --- pools --- */

HoneRuntime* hone_pool_new(int32_t threads) {
  HoneRuntime* const pool = hone_internal_pool_new(threads);
  if (pool) return pool;
  if (errno == EINVAL)
    fail(HONE_BAD_ARGUMENTS, "a pool has 1 to %d threads, or 0 for as many as there are CPUs; not %d",
         HONE_POOL_MOST_THREADS, (int)threads);
  else
    fail(errno == ENOMEM ? HONE_NO_MEMORY : HONE_NO_THREADS, "a pool of %d threads cannot be made: %s", (int)threads,
         strerror(errno));
  return NULL;
}

void hone_pool_free(HoneRuntime* pool) { hone_internal_pool_free(pool); }
