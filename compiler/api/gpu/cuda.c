/* NVIDIA's GPUs through libcuda. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/api/gpu/cuda.h"

typedef HoneCuda Cuda;
typedef HoneCudaBound Bound;
typedef HoneCudaFunctions Functions;

#define say hone_internal_say
#define check hone_internal_cuda_check
#define enter hone_internal_cuda_enter
#define leave hone_internal_cuda_leave
#define enter_to_free hone_internal_cuda_enter_to_free

static const char* text_of(const Functions* cu, CuResult code, char text[160]) {
  const char *name = NULL, *words = NULL;
  if (cu->error_name(code, &name) != 0 || !name) {
    snprintf(text, 160, "CUDA error %d", code);
  } else if (cu->error_text(code, &words) != 0 || !words) {
    snprintf(text, 160, "%s", name);
  } else {
    snprintf(text, 160, "%s (%s)", name, words);
  }
  return text;
}

int32_t hone_internal_cuda_check(HoneCuda* c, CuResult code, HoneWords* words, const char* what, ...) {
  if (code == 0) return HONE_OK;
  char text[160], when[256];
  va_list arguments;
  va_start(arguments, what);
  vsnprintf(when, sizeof when, what, arguments);  // NOLINT(clang-analyzer-valist.Uninitialized): it is, above
  va_end(arguments);
  text_of(&c->cu, code, text);
  if (hone_cuda_is_final(code)) snprintf(c->lost, sizeof c->lost, "%s: %s", when, text);
  return say(words, code == HONE_CU_OUT_OF_MEMORY ? HONE_NO_MEMORY : HONE_GPU_FAILED, "%s: %s", when, text);
}

int32_t hone_internal_cuda_enter(HoneCuda* c, HoneWords* words) {
  if (c->lost[0]) return say(words, HONE_GPU_FAILED, "the device is lost: %s", c->lost);
  return check(c, c->cu.push_context(c->context), words, "the GPU's context");
}
int32_t hone_internal_cuda_leave(HoneCuda* c, int32_t code) {
  CuContext ours = NULL;
  c->cu.pop_context(&ours);
  return code;
}

int hone_internal_cuda_enter_to_free(HoneCuda* c) { return !c->is_stuck && c->cu.push_context(c->context) == 0; }

static CuAddress address_of(HoneMemory memory) { return (CuAddress)(uintptr_t)memory; }

static int is_recorded(const Cuda* c, const void* stream) { return c->recorder && stream == c->recorder; }

/* --- memory --- */

static int32_t allocate(void* self, int64_t bytes, HoneMemory* memory, HoneWords* words) {
  Cuda* const c = self;
  CuAddress address = 0;
  int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  code = leave(c, check(c, c->cu.allocate(&address, (size_t)bytes), words, "a buffer of %lld bytes", (long long)bytes));
  if (code == HONE_OK) *memory = (HoneMemory)(uintptr_t)address;
  return code;
}

static void deallocate(void* self, HoneMemory memory) {
  Cuda* const c = self;
  if (!enter_to_free(c)) return;
  c->cu.free(address_of(memory));
  leave(c, HONE_OK);
}

static int32_t wrap(void* self, void* native, int64_t bytes, HoneMemory* memory, HoneWords* words) {
  (void)self, (void)bytes, (void)words;
  *memory = native;
  return HONE_OK;
}

static int32_t part(void* self, HoneMemory of, int64_t offset, int64_t bytes, HoneMemory* memory, HoneWords* words) {
  (void)self, (void)bytes, (void)words;
  *memory = (char*)of + offset;
  return HONE_OK;
}

/* A caller's memory and a part are plain addresses: nothing to release. */
static void release(void* self, HoneMemory memory) { (void)self, (void)memory; }

static int32_t write_memory(void* self, HoneMemory to, int64_t offset, const void* from, int64_t bytes, void* stream,
                            HoneWords* words) {
  Cuda* const c = self;
  const int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  /* Pageable memory is copied before this returns, whatever else is done later; pinned memory when its turn comes. */
  return leave(c, check(c, c->cu.send(address_of(to) + (CuAddress)offset, from, (size_t)bytes, stream), words,
                        "writing to the device"));
}

static int32_t wait_for(Cuda* c, CuStream stream, HoneWords* words) {
  if (c->limit <= 0) return check(c, c->cu.synchronize_stream(stream), words, "waiting for the GPU");
  double begin = 0;
  for (;;) {
    const CuResult state = c->cu.query_stream(stream);
    if (state != HONE_CU_NOT_READY) return check(c, state, words, "waiting for the GPU");
    if (!hone_internal_is_over(&begin, c->limit)) continue;
    c->is_stuck = 1;
    snprintf(c->lost, sizeof c->lost, "what was sent to the GPU did not end within %g s", c->limit);
    return say(words, HONE_GPU_FAILED, "%s: the device is told lost", c->lost);
  }
}

static int32_t read_memory(void* self, HoneMemory from, int64_t offset, void* to, int64_t bytes, void* stream,
                           HoneWords* words) {
  Cuda* const c = self;
  int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  code = check(c, c->cu.fetch(to, address_of(from) + (CuAddress)offset, (size_t)bytes, stream), words,
               "reading from the device");
  return leave(c, code == HONE_OK ? wait_for(c, stream, words) : code);
}

static int32_t copy(void* self, HoneMemory from, HoneMemory to, int64_t bytes, void* stream, HoneWords* words) {
  Cuda* const c = self;
  if (is_recorded(c, stream)) return hone_internal_cuda_record_copy(c, address_of(from), address_of(to), bytes, words);
  const int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  return leave(c, check(c, c->cu.copy_on_device(address_of(to), address_of(from), (size_t)bytes, stream), words,
                        "copying on the device"));
}

/* --- programs --- */

static int32_t load(void* self, const void* image, int64_t bytes, void** program, HoneWords* words) {
  Cuda* const c = self;
  (void)bytes; /* a cubin says how long it is, and text ends with a zero */
  /* Options and their values travel as arrays; a size is passed in the pointer itself. */
  char log[8192] = {0};
  int options[2] = {HONE_CU_JIT_ERROR_LOG, HONE_CU_JIT_ERROR_LOG_BYTES};
  void* values[2] = {log, (void*)(uintptr_t)(sizeof log - 1)};
  CuModule module = NULL;
  const int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  const CuResult loaded = c->cu.load_module(&module, image, 2, options, values);
  leave(c, HONE_OK);
  if (loaded == HONE_CU_UNSUPPORTED_PTX_VERSION)
    return say(words, HONE_GPU_FAILED,
               "the driver (%s) is older than the compiler of the program: it takes a newer "
               "driver, or code that is compiled where NVRTC is not newer than that",
               c->version);
  if (loaded != 0 && log[0] && !hone_cuda_is_final(loaded)) {
    char text[160];
    return say(words, HONE_GPU_FAILED, "the driver (%s) does not load the program: %s: %s", c->version,
               text_of(&c->cu, loaded, text), log);
  }
  if (loaded == 0) *program = module;
  return check(c, loaded, words, "the driver (%s) does not load the program", c->version);
}

static void unload(void* self, void* program) {
  Cuda* const c = self;
  if (!enter_to_free(c)) return;
  c->cu.unload_module(program);
  leave(c, HONE_OK);
}

static void unbind(void* self, void* bound) {
  Bound* const b = bound;
  (void)self;
  free(b->addresses);
  free(b->parameters);
  free(b);
}

static int32_t find_function(Cuda* c, void* program, Bound* b, HoneWords* words) {
  const char* const kernel = b->launch->kernel;
  const int64_t dynamic = b->launch->dynamic_shared_bytes;
  int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  code = check(c, c->cu.function(&b->function, program, kernel), words, "kernel '%s'", kernel);
  /* More than a kernel may declare has to be asked for. */
  if (code == HONE_OK && dynamic > 0)
    code = check(c, c->cu.set_function_attribute(b->function, HONE_CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)dynamic), words,
                 "%lld bytes of shared memory for kernel '%s'", (long long)dynamic, kernel);
  return leave(c, code);
}

static int32_t bind(void* self, void* program, const HoneGpuLaunch* launch, int32_t count, void** bound,
                    HoneWords* words) {
  Bound* const b = calloc(1, sizeof *b);
  if (!b) return say(words, HONE_GPU_FAILED, "the host has no memory left");
  b->launch = launch;
  b->count = count;
  b->addresses = calloc((size_t)count + 1, sizeof *b->addresses);
  b->parameters = calloc((size_t)count + 1, sizeof *b->parameters);
  const int32_t code = b->addresses && b->parameters ? find_function(self, program, b, words)
                                                     : say(words, HONE_GPU_FAILED, "the host has no memory left");
  if (code != HONE_OK) {
    unbind(self, b);
    return code;
  }
  for (int32_t i = 0; i < count; ++i) b->parameters[i] = &b->addresses[i];
  *bound = b;
  return HONE_OK;
}

static int32_t set_argument(void* self, void* bound, int32_t index, HoneMemory memory, HoneWords* words) {
  (void)self, (void)words;
  ((Bound*)bound)->addresses[index] = address_of(memory);
  return HONE_OK;
}

static int32_t enqueue(void* self, void* bound, void* stream, HoneWords* words) {
  Cuda* const c = self;
  const Bound* const b = bound;
  const HoneGpuLaunch* const l = b->launch;
  if (is_recorded(c, stream)) return hone_internal_cuda_record_launch(c, b, words);
  const int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  return leave(c, check(c,
                        c->cu.launch(b->function, (unsigned)l->blocks, 1, 1, (unsigned)l->threads, 1, 1,
                                     (unsigned)l->dynamic_shared_bytes, stream, b->parameters, NULL),
                        words, "launching kernel '%s'", l->kernel));
}

/* --- waiting --- */

static int32_t wait(void* self, void* stream, HoneWords* words) {
  Cuda* const c = self;
  const int32_t code = enter(c, words);
  return code == HONE_OK ? leave(c, wait_for(c, stream, words)) : code;
}

/* CUDA has none with a bound: a stream that is gone cannot be asked. */
static int32_t wait_for_all(void* self, HoneWords* words) {
  Cuda* const c = self;
  const int32_t code = enter(c, words);
  return code == HONE_OK ? leave(c, check(c, c->cu.synchronize(), words, "waiting for the GPU")) : code;
}

/* --- opening --- */

static int32_t check_stream(void* self, void* stream, HoneWords* words) {
  Cuda* const c = self;
  CuContext context = NULL;
  if (!stream) return HONE_OK;
  int32_t code = enter(c, words);
  if (code != HONE_OK) return code;
  code = leave(c, check(c, c->cu.stream_context(stream, &context), words, "the stream"));
  if (code != HONE_OK || context == c->context) return code;
  return say(words, HONE_BAD_ARGUMENTS,
             "the stream is of another context than the device: cuDevicePrimaryCtxRetain "
             "gives the one that it has, hone_gpu_open_in takes another");
}

static void close_device(void* self) {
  Cuda* const c = self;
  hone_internal_cuda_close_copies(c);
  if (c->is_retained && !c->is_stuck) c->cu.release_context(c->device);
  free(c);
}

/* The library is never closed: drivers have threads of their own. */
static int32_t load_functions(Functions* cu, HoneWords* words) {
  static const char* const names[] = {"libcuda.so.1", NULL};
  char why[1024];
  void* const library = hone_internal_open_library(names, why, sizeof why);
  if (!library) return say(words, HONE_NO_GPU, "no CUDA: the driver is missing (%s)", why);
#define HONE_CUDA_FIND(member, symbol, ...)            \
  *(void**)&cu->member = dlsym(library, #symbol);      \
  if (!cu->member)                                     \
    return say(words, HONE_NO_GPU,                     \
               "no CUDA: libcuda.so.1 has no " #symbol \
               ": a driver of CUDA 10.2 or newer is "  \
               "needed");
  HONE_CUDA_FUNCTIONS(HONE_CUDA_FIND)
  HONE_CUDA_CALLER_FUNCTIONS(HONE_CUDA_FIND)
#undef HONE_CUDA_FIND
  cu->has_nodes = 1;
#define HONE_CUDA_FIND(member, symbol, ...)             \
  *(void**)&cu->nodes.member = dlsym(library, #symbol); \
  cu->has_nodes = cu->has_nodes && cu->nodes.member;
  HONE_CUDA_NODE_FUNCTIONS(HONE_CUDA_FIND)
#undef HONE_CUDA_FIND
  return HONE_OK;
}

static int attribute(const Cuda* c, int which) {
  int value = 0;
  return c->cu.device_attribute(&value, which, c->device) == 0 ? value : 0;
}

static void describe(Cuda* c, HoneOpened* o) {
  static const int32_t host_types[] = {kDLCUDAHost, kDLCUDAManaged, 0};
  int version = 0;
  size_t bytes = 0;
  c->cu.device_name(c->model, (int)sizeof c->model - 1, c->device);
  c->cu.driver_version(&version);
  c->cu.device_memory(&bytes, c->device);
  snprintf(c->version, sizeof c->version, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  snprintf(c->arch, sizeof c->arch, "sm_%d%d", attribute(c, HONE_CU_CAPABILITY_MAJOR),
           attribute(c, HONE_CU_CAPABILITY_MINOR));
  c->limit = kHoneDefaultLimit;
  o->context = c->context;
  o->limit = &c->limit;
  o->check_stream = check_stream;
  o->close = close_device;
  o->properties = (HoneGpuProperties){.api = "cuda",
                                      .model = c->model,
                                      .driver = c->version,
                                      .arch = c->arch,
                                      .memory_bytes = (int64_t)bytes,
                                      .compute_units = attribute(c, HONE_CU_MULTIPROCESSORS),
                                      .is_integrated = attribute(c, HONE_CU_INTEGRATED),
                                      .device_type = kDLCUDA,
                                      .device_id = o->properties.device_id};
  o->driver = (HoneDriver){.self = c,
                           .api = "cuda",
                           .device_name = c->model,
                           .arch = c->arch,
                           .device_type = kDLCUDA,
                           .device_id = o->properties.device_id,
                           .has_addresses = 1,
                           .host_device_types = host_types,
                           .allocate = allocate,
                           .deallocate = deallocate,
                           .wrap = wrap,
                           .part = part,
                           .release = release,
                           .write = write_memory,
                           .read = read_memory,
                           .copy = copy,
                           .load = load,
                           .unload = unload,
                           .bind = bind,
                           .set_argument = set_argument,
                           .unbind = unbind,
                           .enqueue = enqueue,
                           .record = hone_internal_cuda_record,
                           .replay = hone_internal_cuda_replay,
                           .rebind = hone_internal_cuda_rebind,
                           .forget = hone_internal_cuda_forget,
                           .wait = wait,
                           .wait_for_all = wait_for_all,
                           .allocate_pinned = hone_internal_cuda_allocate_pinned,
                           .free_pinned = hone_internal_cuda_free_pinned,
                           .fetch = hone_internal_cuda_fetch,
                           .side_stream = hone_internal_cuda_side_stream,
                           .follow = hone_internal_cuda_follow};
}

static int32_t start(Cuda** made, HoneWords* words) {
  Cuda* const c = calloc(1, sizeof *c);
  char text[160];
  if (!c) return say(words, HONE_NO_MEMORY, "the host has no memory left");
  int32_t code = load_functions(&c->cu, words);
  if (code == HONE_OK) {
    const CuResult started = c->cu.init(0);
    if (started != 0)
      code = say(words, HONE_NO_GPU, "no CUDA device: the driver does not start: %s", text_of(&c->cu, started, text));
  }
  if (code != HONE_OK)
    free(c);
  else
    *made = c;
  return code;
}

static int32_t no_such_device(Cuda* c, int32_t index, int count, HoneWords* words) {
  if (count <= 0)
    return say(words, HONE_NO_GPU, "no CUDA device: the driver knows none (CUDA_VISIBLE_DEVICES may hide them)");
  return say(words, HONE_NO_GPU, "there is no cuda:%d; the driver has %d: cuda:0 to cuda:%d, '%s' the first",
             (int)index, count, count - 1,
             c->cu.device(&c->device, 0) == 0 && c->cu.device_name(c->model, (int)sizeof c->model - 1, c->device) == 0
                 ? c->model
                 : "");
}

static int32_t open_device(int32_t index, HoneOpened* opened, HoneWords* words) {
  Cuda* c = NULL;
  int count = 0;
  int32_t code = start(&c, words);
  if (code != HONE_OK) return code;
  if (c->cu.device_count(&count) != 0 || count <= 0 || index >= count) {
    code = no_such_device(c, index, count, words);
  } else {
    opened->properties.device_id = index < 0 ? 0 : index;
    code = check(c, c->cu.device(&c->device, opened->properties.device_id), words, "opening cuda:%d",
                 (int)opened->properties.device_id);
    if (code == HONE_OK)
      code = check(c, c->cu.retain_context(&c->context, c->device), words, "opening cuda:%d",
                   (int)opened->properties.device_id);
  }
  if (code != HONE_OK) {
    free(c);
    return code;
  }
  c->is_retained = 1;
  describe(c, opened);
  return HONE_OK;
}

/* The ordinal of the device that is current in a context; -1: none. */
static int32_t ordinal_of(const Cuda* c) {
  int count = 0;
  CuDevice d = 0;
  if (c->cu.device_count(&count) != 0) return -1;
  for (int32_t i = 0; i < count; ++i)
    if (c->cu.device(&d, i) == 0 && d == c->device) return i;
  return -1;
}

static int32_t open_in(void* context, void* device, HoneOpened* opened, HoneWords* words) {
  Cuda* c = NULL;
  (void)device;
  int32_t code = start(&c, words);
  if (code != HONE_OK) return code;
  c->context = context;
  code = check(c, c->cu.push_context(context), words, "the context");
  if (code == HONE_OK) code = leave(c, check(c, c->cu.context_device(&c->device), words, "the context's device"));
  if (code != HONE_OK) {
    free(c);
    return code;
  }
  opened->properties.device_id = ordinal_of(c);
  describe(c, opened);
  return HONE_OK;
}

const HoneApi hone_internal_cuda_api = {"cuda", kDLCUDA, open_device, open_in};
