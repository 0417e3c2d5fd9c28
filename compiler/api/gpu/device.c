#define _POSIX_C_SOURCE 200809L
#include "compiler/api/gpu/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler/api/gpu/check_variant.h"
#include "compiler/api/gpu_library.h"

#define fail hone_internal_gpu_fail

static _Thread_local char t_error[4096];

/* Guards s_open and what devices have for it; held for moments. */
static pthread_mutex_t s_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t s_left = PTHREAD_COND_INITIALIZER; /* a visitor has left */
static HoneGpuDevice* s_open;

/* In a child of fork() a thread that is not there may have held the mutex, in the midst of a change. Nothing that the
   parent has opened is of use here. */
static void forget_parent(void) {
  static const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static const pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  s_mutex = mutex;
  s_left = condition;
  s_open = NULL;
}
static void watch_forks(void) { pthread_atfork(NULL, NULL, forget_parent); }

static void lock_list(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&s_mutex);
}
static void unlock_list(void) { pthread_mutex_unlock(&s_mutex); }

#define API(name) &hone_internal_##name##_api,
static const HoneApi* const s_apis[] = {HONE_APIS(API)};
#undef API
enum { kApis = sizeof s_apis / sizeof *s_apis };

int32_t hone_internal_gpu_fail(int32_t code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(t_error, sizeof t_error, format, arguments);  // NOLINT(clang-analyzer-valist.Uninitialized): it is, above
  va_end(arguments);
  /* One line, whatever a driver says. */
  for (char* c = t_error; *c; ++c)
    if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = ' ';
  return code;
}

const char* hone_gpu_last_error(void) { return t_error; }

/* --- opening --- */

static int32_t make_device(HoneOpened* opened, HoneGpuDevice** gpu) {
  HoneGpuDevice* const made = calloc(1, sizeof *made);
  if (made) {
    made->opened = *opened;
    made->process = getpid();
    pthread_mutex_init(&made->mutex, NULL);
    snprintf(made->name, sizeof made->name, "%s:%d", opened->properties.api, (int)opened->properties.device_id);
    made->opened.properties.name = made->name;
    made->launcher = hone_internal_launcher_new(&made->opened.driver);
  }
  if (!made || !made->launcher) {
    opened->close(opened->driver.self);
    free(made);
    return fail(HONE_NO_MEMORY, "the host has no memory left");
  }
  lock_list();
  made->next = s_open;
  s_open = made;
  unlock_list();
  *gpu = made;
  return HONE_OK;
}

static int32_t open_of(const HoneApi* api, int32_t index, HoneGpuDevice** gpu, HoneWords* words) {
  HoneOpened opened;
  memset(&opened, 0, sizeof opened);
  const int32_t code = api->open(index, &opened, words);
  return code == HONE_OK ? make_device(&opened, gpu) : code;
}

static int32_t open_first(HoneGpuDevice** gpu, HoneWords* words) {
  char all[2048] = "";
  for (size_t a = 0; a < kApis; ++a) {
    const int32_t code = open_of(s_apis[a], -1, gpu, words);
    if (code == HONE_OK) return code;
    const size_t length = strlen(all);
    snprintf(all + length, sizeof all - length, "%s%.1000s", a ? "; " : "", words->text);
  }
  return hone_internal_say(words, HONE_NO_GPU, "%s", all);
}

/* The number behind the name of an API; -1: none is said, -2: it is no number. */
static int32_t number_of(const char* text) {
  if (text[0] == '\0') return -1;
  if (text[0] != ':' || text[1] == '\0') return -2;
  int32_t number = 0;
  for (const char* c = text + 1; *c; ++c) {
    if (*c < '0' || *c > '9' || number > 9999) return -2;
    number = number * 10 + (*c - '0');
  }
  return number;
}

int32_t hone_gpu_open(const char* name, HoneGpuDevice** gpu) {
  HoneWords words;
  if (gpu) *gpu = NULL;
  if (!gpu || !name) return fail(HONE_BAD_ARGUMENTS, "hone_gpu_open: a name and a place for the device are needed");
  int32_t code = HONE_BAD_ARGUMENTS;
#define NAMES(name) ", " #name ", " #name ":N"
  hone_internal_say(&words, code, "'%s' is no device: there are auto" HONE_APIS(NAMES), name);
#undef NAMES
  if (strcmp(name, "auto") == 0) {
    code = open_first(gpu, &words);
  } else {
    for (size_t a = 0; a < kApis; ++a) {
      const size_t length = strlen(s_apis[a]->name);
      if (strncmp(name, s_apis[a]->name, length) != 0 || number_of(name + length) == -2) continue;
      code = open_of(s_apis[a], number_of(name + length), gpu, &words);
    }
  }
  return code == HONE_OK ? code : fail(code, "%s", words.text);
}

int32_t hone_gpu_open_in(const char* api, void* context, void* device, HoneGpuDevice** gpu) {
  HoneWords words;
  HoneOpened opened;
  memset(&opened, 0, sizeof opened);
  if (gpu) *gpu = NULL;
  if (!gpu || !api || !context)
    return fail(HONE_BAD_ARGUMENTS, "hone_gpu_open_in: an API, a context and a place for the device are needed");
  for (size_t a = 0; a < kApis; ++a) {
    if (strcmp(api, s_apis[a]->name) != 0) continue;
    const int32_t code = s_apis[a]->open_in(context, device, &opened, &words);
    return code == HONE_OK ? make_device(&opened, gpu) : fail(code, "%s", words.text);
  }
#define NAME(name) ", " #name
  static const char names[] = HONE_APIS(NAME);
#undef NAME
  return fail(HONE_BAD_ARGUMENTS, "'%s' is no API: there are %s", api, names + 2);
}

void hone_gpu_close(HoneGpuDevice* gpu) {
  if (!gpu) return;
  /* A forked child frees nothing that its parent's driver holds. */
  if (gpu->process != getpid()) return;
  lock_list();
  /* Visitors go on from here to the next one. */
  while (gpu->visitors > 0) pthread_cond_wait(&s_left, &s_mutex);
  HoneGpuDevice** at = &s_open;
  while (*at && *at != gpu) at = &(*at)->next;
  if (*at) *at = gpu->next;
  unlock_list();
  hone_internal_launcher_free(gpu->launcher);
  gpu->opened.close(gpu->opened.driver.self);
  pthread_mutex_destroy(&gpu->mutex);
  free(gpu);
}

const HoneGpuProperties* hone_gpu_properties(const HoneGpuDevice* gpu) { return &gpu->opened.properties; }
void* hone_gpu_context(const HoneGpuDevice* gpu) { return gpu->opened.context; }
void hone_gpu_set_limit(HoneGpuDevice* gpu, double seconds) {
  if (hone_internal_enter(gpu) != HONE_OK) return;
  *gpu->opened.limit = seconds;
  hone_internal_leave(gpu);
}

/* --- calls --- */

int32_t hone_internal_enter(HoneGpuDevice* device) {
  if (device->process != getpid())
    return fail(HONE_GPU_FAILED, "%s was opened by the process that this one is a fork of; open it after the fork",
                device->name);
  pthread_mutex_lock(&device->mutex);
  return HONE_OK;
}

void hone_internal_leave(HoneGpuDevice* device) { pthread_mutex_unlock(&device->mutex); }

int32_t hone_internal_run(HoneQueue* queue, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                          void* workspace, const HoneRuntime* rt, const HoneCallMode* mode) {
  HoneGpuDevice* const device = queue->device;
  int32_t code = hone_internal_enter(device);
  if (code != HONE_OK) return code;
  code = hone_internal_launch(device->launcher, program, args, n, workspace, rt, mode);
  if (code != HONE_OK) fail(code, "%s", hone_internal_launcher_words(device->launcher)->text);
  hone_internal_leave(device);
  /* Artifacts' entries know one code for all that a GPU may have. */
  return code == HONE_NO_MEMORY ? HONE_GPU_FAILED : code;
}

static int32_t run_entry(void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                         void* workspace) {
  HoneQueue* const q = self;
  const HoneCallMode mode = {HONE_ON_DEVICE, q->stream, 1};
  return hone_internal_run(q, program, args, n, workspace, &q->runtime, &mode);
}

static int32_t run_plain(void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                         const HoneRuntime* rt) {
  HoneQueue* const q = self;
  const HoneCallMode mode = {HONE_ANYWHERE, q->stream, 0};
  return hone_internal_run(q, program, args, n, NULL, rt, &mode);
}

/* Without threads, chunks run here, one after the other. */
static int32_t run_here(void* self, HoneChunk body, void* closure, int64_t iterations, int32_t most, int64_t grain) {
  (void)self, (void)most, (void)grain;
  return body(0, iterations, 0, closure);
}

void hone_internal_queue_begin(HoneQueue* queue, HoneGpuDevice* device, const HoneRuntime* pool, void* stream,
                               int32_t is_async) {
  /* Runtimes of version 2 end before `gpu`. */
  queue->runtime = pool ? (HoneRuntime){HONE_RUNTIME_ABI, pool->workers, pool->self, pool->parallel_for, &queue->gpu}
                        : (HoneRuntime){HONE_RUNTIME_ABI, 1, NULL, run_here, &queue->gpu};
  queue->gpu = (HoneGpu){queue, run_entry, run_plain};
  queue->device = device;
  queue->stream = stream;
  queue->is_async = is_async;
}

HoneQueue* hone_internal_queue_of(const HoneRuntime* runtime) {
  const HoneGpu* const gpu = runtime && runtime->abi_version >= HONE_RUNTIME_ABI ? runtime->gpu : NULL;
  return gpu && gpu->run == run_entry ? gpu->self : NULL;
}

int32_t hone_gpu_runtime_new(HoneGpuDevice* gpu, const HoneRuntime* pool, void* stream, int32_t is_async,
                             HoneRuntime** runtime) {
  HoneWords words;
  if (runtime) *runtime = NULL;
  if (!gpu || !runtime)
    return fail(HONE_BAD_ARGUMENTS, "hone_gpu_runtime_new: a device and a place for the runtime are needed");
  int32_t code = hone_internal_enter(gpu);
  if (code != HONE_OK) return code;
  code = gpu->opened.check_stream(gpu->opened.driver.self, stream, &words);
  hone_internal_leave(gpu);
  if (code != HONE_OK) return fail(code, "%s", words.text);
  HoneQueue* const made = calloc(1, sizeof *made);
  if (!made) return fail(HONE_NO_MEMORY, "the host has no memory left");
  hone_internal_queue_begin(made, gpu, pool, stream, is_async);
  *runtime = &made->runtime;
  return HONE_OK;
}

void hone_gpu_runtime_free(HoneRuntime* runtime) { free(hone_internal_queue_of(runtime)); }

int32_t hone_gpu_wait(const HoneRuntime* runtime) {
  HoneWords words;
  HoneQueue* const q = hone_internal_queue_of(runtime);
  if (!q) return fail(HONE_BAD_ARGUMENTS, "hone_gpu_wait: the runtime is none of hone_gpu_runtime_new");
  int32_t code = hone_internal_enter(q->device);
  if (code != HONE_OK) return code;
  code = q->device->opened.driver.wait(q->device->opened.driver.self, q->stream, &words);
  hone_internal_leave(q->device);
  return code == HONE_OK ? code : fail(code, "%s", words.text);
}

/* --- memory --- */

int32_t hone_gpu_allocate(HoneGpuDevice* gpu, int64_t bytes, void** data) {
  HoneWords words;
  if (data) *data = NULL;
  if (!gpu || !data || bytes < 1)
    return fail(HONE_BAD_ARGUMENTS,
                "hone_gpu_allocate: a device, at least one byte and a place for the memory are "
                "needed; not %lld bytes",
                (long long)bytes);
  int32_t code = hone_internal_enter(gpu);
  if (code != HONE_OK) return code;
  code = gpu->opened.driver.allocate(gpu->opened.driver.self, bytes, data, &words);
  hone_internal_leave(gpu);
  return code == HONE_OK ? code : fail(code, "%s", words.text);
}

void hone_gpu_free(HoneGpuDevice* gpu, void* data) {
  if (!gpu || !data || hone_internal_enter(gpu) != HONE_OK) return;
  gpu->opened.driver.deallocate(gpu->opened.driver.self, data);
  hone_internal_leave(gpu);
}

static int32_t check_copy(const char* function, const HoneGpuDevice* gpu, const void* data, int64_t offset,
                          const void* host, int64_t bytes) {
  if (gpu && data && host && offset >= 0 && bytes >= 0) return HONE_OK;
  return fail(HONE_BAD_ARGUMENTS,
              "%s: a device, memory on both sides and a number of bytes are needed; not %lld bytes "
              "at %lld",
              function, (long long)bytes, (long long)offset);
}

int32_t hone_gpu_write(HoneGpuDevice* gpu, void* data, int64_t offset, const void* from, int64_t bytes) {
  HoneWords words;
  int32_t code = check_copy("hone_gpu_write", gpu, data, offset, from, bytes);
  if (code != HONE_OK || bytes == 0) return code;
  code = hone_internal_enter(gpu);
  if (code != HONE_OK) return code;
  const HoneDriver* const driver = &gpu->opened.driver;
  code = driver->write(driver->self, data, offset, from, bytes, NULL, &words);
  if (code == HONE_OK) code = driver->wait(driver->self, NULL, &words);
  hone_internal_leave(gpu);
  return code == HONE_OK ? code : fail(code, "%s", words.text);
}

int32_t hone_gpu_read(HoneGpuDevice* gpu, const void* data, int64_t offset, void* to, int64_t bytes) {
  HoneWords words;
  int32_t code = check_copy("hone_gpu_read", gpu, data, offset, to, bytes);
  if (code != HONE_OK || bytes == 0) return code;
  code = hone_internal_enter(gpu);
  if (code != HONE_OK) return code;
  const HoneDriver* const driver = &gpu->opened.driver;
  code = driver->wait(driver->self, NULL, &words);
  if (code == HONE_OK) code = driver->read(driver->self, (void*)(uintptr_t)data, offset, to, bytes, NULL, &words);
  hone_internal_leave(gpu);
  return code == HONE_OK ? code : fail(code, "%s", words.text);
}

/* --- what libhone_runtime asks --- */

static HoneGpuDevice* shared_device(int32_t device_type) {
  for (HoneGpuDevice* d = s_open; d; d = d->next)
    if (d->is_shared && d->opened.properties.device_type == device_type && d->process == getpid()) return d;
  return NULL;
}

static void give_back(HoneGpuDevice* gpu) {
  if (!gpu || gpu->process != getpid()) return;
  lock_list();
  const int is_last = --gpu->users == 0;
  /* Nobody else finds it from now on. */
  if (is_last) gpu->is_shared = 0;
  unlock_list();
  if (is_last) hone_gpu_close(gpu);
}

static int32_t open_shared(const HoneGpuProgram* program, HoneGpuDevice** gpu) {
  HoneWords words;
  for (size_t a = 0; a < kApis; ++a) {
    if (s_apis[a]->device_type != program->device_type) continue;
    const int32_t code = open_of(s_apis[a], -1, gpu, &words);
    if (code != HONE_OK) return fail(code, "%s", words.text);
    /* Another thread may have opened one meanwhile: both are right. */
    lock_list();
    (*gpu)->is_shared = 1;
    (*gpu)->users = 1;
    unlock_list();
    return HONE_OK;
  }
  return fail(HONE_NO_GPU, "'%s' is a kind of device that this library does not know", program->target);
}

static int32_t take(const HoneGpuProgram* program, HoneGpuDevice** gpu) {
  int32_t code = HONE_OK;
  lock_list();
  *gpu = shared_device(program->device_type);
  if (*gpu) ++(*gpu)->users;
  unlock_list();
  if (!*gpu) code = open_shared(program, gpu);
  if (code != HONE_OK) return code;
  code = hone_internal_enter(*gpu);
  if (code == HONE_OK) {
    code = hone_internal_launcher_prepare((*gpu)->launcher, program);
    if (code != HONE_OK) fail(code, "%s", hone_internal_launcher_words((*gpu)->launcher)->text);
    hone_internal_leave(*gpu);
  }
  if (code != HONE_OK) {
    give_back(*gpu);
    *gpu = NULL;
  }
  return code;
}

static int32_t is_ours(const HoneRuntime* runtime) { return hone_internal_queue_of(runtime) != NULL; }

static int32_t call(const HoneRuntime* runtime, const HoneVariant* variant, const DLTensor* const* args) {
  HoneQueue* const q = hone_internal_queue_of(runtime);
  const HoneCallMode mode = {HONE_ANYWHERE, q->stream, q->is_async};
  const int32_t wrong = hone_internal_check_variant(variant, args);
  if (wrong != HONE_OK) return fail(wrong, "%s", "");
  return hone_internal_run(q, variant->gpu, args, variant->param_count, NULL, runtime, &mode);
}

/* A call may take long: others find and open devices while it is waited for. Those that they open do not know the
   program. */
static void forget(const HoneGpuProgram* program) {
  lock_list();
  for (HoneGpuDevice* d = s_open; d;) {
    ++d->visitors;
    unlock_list();
    pthread_mutex_lock(&d->mutex);
    hone_internal_launcher_forget(d->launcher, program);
    pthread_mutex_unlock(&d->mutex);
    lock_list();
    HoneGpuDevice* const next = d->next;
    --d->visitors;
    pthread_cond_broadcast(&s_left);
    d = next;
  }
  unlock_list();
}

const HoneGpuLibrary hone_gpu_library = {HONE_GPU_LIBRARY_VERSION, take,    give_back, hone_gpu_runtime_new,
                                         hone_gpu_runtime_free,    is_ours, call,      forget,
                                         hone_gpu_last_error};
