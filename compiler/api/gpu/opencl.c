/* Devices of OpenCL through the ICD loader. */
#define _POSIX_C_SOURCE 200809L
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "compiler/api/gpu/drivers.h"

#define HONE_OPENCL_FUNCTIONS(F) \
  F(clGetPlatformIDs)            \
  F(clGetDeviceIDs)              \
  F(clGetDeviceInfo)             \
  F(clCreateContext)             \
  F(clRetainContext)             \
  F(clReleaseContext)            \
  F(clCreateCommandQueue)        \
  F(clReleaseCommandQueue)       \
  F(clGetCommandQueueInfo)       \
  F(clCreateBuffer)              \
  F(clCreateSubBuffer)           \
  F(clRetainMemObject)           \
  F(clGetMemObjectInfo)          \
  F(clReleaseMemObject)          \
  F(clEnqueueReadBuffer)         \
  F(clEnqueueWriteBuffer)        \
  F(clEnqueueFillBuffer)         \
  F(clEnqueueCopyBuffer)         \
  F(clEnqueueMarkerWithWaitList) \
  F(clCreateProgramWithSource)   \
  F(clBuildProgram)              \
  F(clGetProgramBuildInfo)       \
  F(clReleaseProgram)            \
  F(clCreateKernel)              \
  F(clReleaseKernel)             \
  F(clSetKernelArg)              \
  F(clEnqueueNDRangeKernel)      \
  F(clFlush)                     \
  F(clFinish)                    \
  F(clGetEventInfo)              \
  F(clSetEventCallback)          \
  F(clReleaseEvent)

/* Members have the types that the headers declare. */
#define HONE_OPENCL_POINTER(name) __typeof__(&name) name;
typedef struct Functions {
  HONE_OPENCL_FUNCTIONS(HONE_OPENCL_POINTER)
} Functions;

typedef struct Opencl {
  Functions cl;
  cl_device_id device;
  cl_context context;
  cl_command_queue queue;
  cl_event last;         /* of the last launch or copy that was sent; null: none */
  cl_command_queue sent; /* where */
  double limit;
  char lost[512];
  char model[256], version[128];
} Opencl;

typedef struct Bound {
  cl_kernel kernel;
  size_t grid, block;
  const char* name;
} Bound;

#define say hone_internal_say

static const char* name_of(cl_int code, char text[64]) {
  switch (code) {
#define HONE_CL_NAME(name) \
  case name: return #name;
    HONE_CL_NAME(CL_DEVICE_NOT_AVAILABLE)
    HONE_CL_NAME(CL_COMPILER_NOT_AVAILABLE)
    HONE_CL_NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)
    HONE_CL_NAME(CL_OUT_OF_RESOURCES)
    HONE_CL_NAME(CL_OUT_OF_HOST_MEMORY)
    HONE_CL_NAME(CL_BUILD_PROGRAM_FAILURE)
    HONE_CL_NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    HONE_CL_NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET)
    HONE_CL_NAME(CL_INVALID_VALUE)
    HONE_CL_NAME(CL_INVALID_DEVICE)
    HONE_CL_NAME(CL_INVALID_CONTEXT)
    HONE_CL_NAME(CL_INVALID_COMMAND_QUEUE)
    HONE_CL_NAME(CL_INVALID_MEM_OBJECT)
    HONE_CL_NAME(CL_INVALID_KERNEL_NAME)
    HONE_CL_NAME(CL_INVALID_KERNEL_ARGS)
    HONE_CL_NAME(CL_INVALID_ARG_INDEX)
    HONE_CL_NAME(CL_INVALID_ARG_VALUE)
    HONE_CL_NAME(CL_INVALID_ARG_SIZE)
    HONE_CL_NAME(CL_INVALID_WORK_GROUP_SIZE)
    HONE_CL_NAME(CL_INVALID_BUFFER_SIZE)
#undef HONE_CL_NAME
    default: snprintf(text, 64, "OpenCL error %d", (int)code); return text;
  }
}

/* A kernel died, or the device did: the calls made here return these codes for no other reason. */
static int is_final(cl_int code) {
  return code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST || code == CL_INVALID_COMMAND_QUEUE ||
         code == CL_INVALID_CONTEXT || code == CL_DEVICE_NOT_AVAILABLE;
}

static int32_t check(Opencl* c, cl_int code, HoneWords* words, const char* what, ...) {
  if (code == CL_SUCCESS) return HONE_OK;
  char text[64], when[256];
  va_list arguments;
  va_start(arguments, what);
  vsnprintf(when, sizeof when, what, arguments);  // NOLINT(clang-analyzer-valist.Uninitialized): it is, above
  va_end(arguments);
  const char* const name = name_of(code, text);
  if (is_final(code)) snprintf(c->lost, sizeof c->lost, "%s: %s", when, name);
  const int is_full = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES;
  return say(words, is_full ? HONE_NO_MEMORY : HONE_GPU_FAILED, "%s: %s", when, name);
}

static int32_t check_health(const Opencl* c, HoneWords* words) {
  return c->lost[0] ? say(words, HONE_GPU_FAILED, "the device is lost: %s", c->lost) : HONE_OK;
}

static cl_command_queue queue_of(const Opencl* c, void* stream) { return stream ? stream : c->queue; }

/* The command's event, which tells how it ended, in the place of the one before. */
static void keep(Opencl* c, cl_event event, cl_command_queue queue) {
  if (c->last) c->cl.clReleaseEvent(c->last);
  c->last = event;
  c->sent = queue;
}

/* --- memory --- */

static int32_t allocate(void* self, int64_t bytes, HoneMemory* memory, HoneWords* words) {
  Opencl* const c = self;
  cl_int error = CL_SUCCESS;
  const int32_t code = check_health(c, words);
  if (code != HONE_OK) return code;
  const cl_mem made = c->cl.clCreateBuffer(c->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error);
  if (error == CL_SUCCESS) *memory = made;
  /* Sizes beyond what one buffer may have. */
  if (error == CL_INVALID_BUFFER_SIZE) error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return check(c, error, words, "a buffer of %lld bytes", (long long)bytes);
}

static int32_t wrap(void* self, void* native, int64_t bytes, HoneMemory* memory, HoneWords* words) {
  Opencl* const c = self;
  cl_context context = NULL;
  size_t there = 0;
  int32_t code =
      check(c, c->cl.clGetMemObjectInfo(native, CL_MEM_CONTEXT, sizeof(cl_context), &context, NULL), words, "a cl_mem");
  if (code == HONE_OK)
    code = check(c, c->cl.clGetMemObjectInfo(native, CL_MEM_SIZE, sizeof there, &there, NULL), words, "a cl_mem");
  if (code != HONE_OK) return code;
  /* Commands on it would fail as they do on a device that is lost. */
  if (context != c->context)
    return say(words, HONE_BAD_ARGUMENTS,
               "a cl_mem is of another context than the device: hone_gpu_context is the one "
               "that it has");
  if (there < (size_t)bytes)
    return say(words, HONE_BAD_ARGUMENTS, "a cl_mem has %lld bytes; its tensor has %lld", (long long)there,
               (long long)bytes);
  code = check(c, c->cl.clRetainMemObject(native), words, "a cl_mem");
  if (code == HONE_OK) *memory = native;
  return code;
}

static int32_t part(void* self, HoneMemory of, int64_t offset, int64_t bytes, HoneMemory* memory, HoneWords* words) {
  Opencl* const c = self;
  const cl_buffer_region region = {(size_t)offset, (size_t)bytes};
  cl_int error = CL_SUCCESS;
  const cl_mem made = c->cl.clCreateSubBuffer(of, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &error);
  if (error == CL_SUCCESS) *memory = made;
  return check(c, error, words, "a part of a buffer, %lld bytes at %lld", (long long)bytes, (long long)offset);
}

static void release(void* self, HoneMemory memory) { ((Opencl*)self)->cl.clReleaseMemObject(memory); }

/* Who waits for an event, and the driver that says when it comes: the last of the two frees it. */
typedef struct Waiter {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  int is_done, is_left;
} Waiter;

static Waiter* new_waiter(void) {
  Waiter* const w = calloc(1, sizeof *w);
  pthread_condattr_t attributes;
  if (!w || pthread_condattr_init(&attributes) != 0) {
    free(w);
    return NULL;
  }
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&w->mutex, NULL);
  pthread_cond_init(&w->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  return w;
}
static void free_waiter(Waiter* w) {
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->mutex);
  free(w);
}

static void CL_CALLBACK tell_waiter(cl_event event, cl_int state, void* waiter) {
  Waiter* const w = waiter;
  (void)event, (void)state;
  pthread_mutex_lock(&w->mutex);
  w->is_done = 1;
  const int is_mine = w->is_left;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->mutex);
  if (is_mine) free_waiter(w);
}

/* Whether it comes within the limit. */
static int sleep_until(Waiter* w, double limit) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double seconds = limit < 1e9 ? limit : 1e9;
  end.tv_sec += (time_t)seconds;
  end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
  if (end.tv_nsec >= 1000000000) ++end.tv_sec, end.tv_nsec -= 1000000000;
  pthread_mutex_lock(&w->mutex);
  int over = 0;
  while (!w->is_done && !over) over = pthread_cond_timedwait(&w->changed, &w->mutex, &end) != 0;
  const int is_done = w->is_done;
  w->is_left = 1;
  pthread_mutex_unlock(&w->mutex);
  if (is_done) free_waiter(w);
  return is_done;
}

/* A wait that ends by itself, which OpenCL has none of. The thread sleeps: on a device that is the CPU it would take
   the time of those that compute. */
static int32_t wait_within_limit(Opencl* c, cl_event event, HoneWords* words) {
  cl_int state = CL_COMPLETE;
  int32_t code = check(c, c->cl.clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
                       words, "a command's status");
  if (code != HONE_OK || state <= CL_COMPLETE) return code;
  Waiter* const w = new_waiter();
  if (!w) return say(words, HONE_GPU_FAILED, "the host has no memory left");
  code = check(c, c->cl.clSetEventCallback(event, CL_COMPLETE, tell_waiter, w), words, "waiting for the device");
  if (code != HONE_OK) {
    free_waiter(w);
    return code;
  }
  if (sleep_until(w, c->limit)) return HONE_OK;
  snprintf(c->lost, sizeof c->lost, "what was sent to the device did not end within %g s", c->limit);
  return say(words, HONE_GPU_FAILED, "%s: the device is told lost", c->lost);
}

/* Behind all of the queue's commands, others' among them, comes a marker. */
static int32_t wait_for_marker(Opencl* c, cl_command_queue queue, HoneWords* words) {
  const int is_last = c->last && c->sent == queue && queue == c->queue;
  cl_event event = c->last;
  int32_t code = HONE_OK;
  if (!is_last)
    code = check(c, c->cl.clEnqueueMarkerWithWaitList(queue, 0, NULL, &event), words, "waiting for the device");
  if (code != HONE_OK) return code;
  code = check(c, c->cl.clFlush(queue), words, "sending commands to the device");
  if (code == HONE_OK) code = wait_within_limit(c, event, words);
  if (!is_last) c->cl.clReleaseEvent(event);
  return code;
}

static int32_t wait_for(Opencl* c, cl_command_queue queue, HoneWords* words) {
  cl_int state = CL_COMPLETE;
  int32_t code = check_health(c, words);
  if (code == HONE_OK && c->limit > 0) code = wait_for_marker(c, queue, words);
  if (code != HONE_OK) return code;
  const int is_known = c->last && c->sent == queue;
  /* Some drivers report here, as a lack of some resource, that a kernel died. */
  const cl_int finished = c->cl.clFinish(queue);
  code = check(c, finished, words, "waiting for the device");
  if (finished == CL_OUT_OF_RESOURCES) {
    snprintf(c->lost, sizeof c->lost, "a kernel failed: CL_OUT_OF_RESOURCES");
    code = say(words, HONE_GPU_FAILED, "%s", c->lost);
  }
  /* clFinish itself may succeed however the commands ended. */
  if (code == HONE_OK && is_known)
    code = check(c, c->cl.clGetEventInfo(c->last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL), words,
                 "a command's status");
  if (code != HONE_OK || state >= 0) return code;
  char text[64];
  snprintf(c->lost, sizeof c->lost, "a kernel failed: %s", name_of(state, text));
  return say(words, HONE_GPU_FAILED, "%s", c->lost);
}

static int32_t write_memory(void* self, HoneMemory to, int64_t offset, const void* from, int64_t bytes, void* stream,
                            HoneWords* words) {
  Opencl* const c = self;
  const cl_command_queue queue = queue_of(c, stream);
  const int32_t code = check_health(c, words);
  if (code != HONE_OK) return code;
  /* A fill's pattern is copied by the call. */
  if ((bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) && offset % bytes == 0)
    return check(
        c, c->cl.clEnqueueFillBuffer(queue, to, from, (size_t)bytes, (size_t)offset, (size_t)bytes, 0, NULL, NULL),
        words, "writing to the device");
  return check(c, c->cl.clEnqueueWriteBuffer(queue, to, CL_FALSE, (size_t)offset, (size_t)bytes, from, 0, NULL, NULL),
               words, "writing to the device");
}

static int32_t read_memory(void* self, HoneMemory from, int64_t offset, void* to, int64_t bytes, void* stream,
                           HoneWords* words) {
  Opencl* const c = self;
  const cl_command_queue queue = queue_of(c, stream);
  const int32_t code = check_health(c, words);
  if (code != HONE_OK) return code;
  return check(c, c->cl.clEnqueueReadBuffer(queue, from, CL_TRUE, (size_t)offset, (size_t)bytes, to, 0, NULL, NULL),
               words, "reading from the device");
}

static int32_t copy(void* self, HoneMemory from, HoneMemory to, int64_t bytes, void* stream, HoneWords* words) {
  Opencl* const c = self;
  const cl_command_queue queue = queue_of(c, stream);
  cl_event event = NULL;
  int32_t code = check_health(c, words);
  if (code != HONE_OK) return code;
  code = check(c, c->cl.clEnqueueCopyBuffer(queue, from, to, 0, 0, (size_t)bytes, 0, NULL, &event), words,
               "copying on the device");
  if (code == HONE_OK) keep(c, event, queue);
  return code;
}

/* --- programs --- */

static void unload(void* self, void* program) { ((Opencl*)self)->cl.clReleaseProgram(program); }

static int32_t load(void* self, const void* image, int64_t bytes, void** program, HoneWords* words) {
  Opencl* const c = self;
  const char* const text = image;
  const size_t length = (size_t)bytes;
  cl_int error = CL_SUCCESS;
  int32_t code = check_health(c, words);
  if (code != HONE_OK) return code;
  cl_program made = c->cl.clCreateProgramWithSource(c->context, 1, (const char**)&text, &length, &error);
  code = check(c, error, words, "an OpenCL program");
  if (code != HONE_OK) return code;
  error = c->cl.clBuildProgram(made, 1, &c->device, "", NULL, NULL);
  if (error == CL_BUILD_PROGRAM_FAILURE) {
    char log[8192] = {0};
    c->cl.clGetProgramBuildInfo(made, c->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    code = say(words, HONE_GPU_FAILED, "the driver (%s) does not compile the program: %s", c->version, log);
  } else {
    code = check(c, error, words, "building an OpenCL program");
  }
  if (code != HONE_OK)
    unload(c, made);
  else
    *program = made;
  return code;
}

static void unbind(void* self, void* bound) {
  Bound* const b = bound;
  if (b->kernel) ((Opencl*)self)->cl.clReleaseKernel(b->kernel);
  free(b);
}

/* Each launch has a kernel object, which keeps its arguments from call to call. */
static int32_t bind(void* self, void* program, const HoneGpuLaunch* launch, int32_t count, void** bound,
                    HoneWords* words) {
  Opencl* const c = self;
  Bound* const b = calloc(1, sizeof *b);
  cl_int error = CL_SUCCESS;
  if (!b) return say(words, HONE_GPU_FAILED, "the host has no memory left");
  b->kernel = c->cl.clCreateKernel(program, launch->kernel, &error);
  b->block = (size_t)launch->threads;
  b->grid = (size_t)launch->blocks * b->block;
  b->name = launch->kernel;
  int32_t code = check(c, error, words, "kernel '%s'", launch->kernel);
  if (code == HONE_OK && launch->dynamic_shared_bytes > 0)
    code = check(c, c->cl.clSetKernelArg(b->kernel, (cl_uint)count, (size_t)launch->dynamic_shared_bytes, NULL), words,
                 "local memory of kernel '%s'", launch->kernel);
  if (code != HONE_OK)
    unbind(self, b);
  else
    *bound = b;
  return code;
}

static int32_t set_argument(void* self, void* bound, int32_t index, HoneMemory memory, HoneWords* words) {
  Opencl* const c = self;
  const Bound* const b = bound;
  return check(c, c->cl.clSetKernelArg(b->kernel, (cl_uint)index, sizeof(cl_mem), &memory), words,
               "parameter %d of kernel '%s'", (int)index, b->name);
}

static int32_t enqueue(void* self, void* bound, void* stream, HoneWords* words) {
  Opencl* const c = self;
  const Bound* const b = bound;
  const cl_command_queue queue = queue_of(c, stream);
  cl_event event = NULL;
  int32_t code = check_health(c, words);
  if (code != HONE_OK) return code;
  code = check(c, c->cl.clEnqueueNDRangeKernel(queue, b->kernel, 1, NULL, &b->grid, &b->block, 0, NULL, &event), words,
               "launching kernel '%s'", b->name);
  if (code == HONE_OK) keep(c, event, queue);
  return code;
}

/* OpenCL 1.2 records nothing. */
static int32_t record(void* self, int32_t (*commands)(void* closure, void* stream), void* closure, void** recording,
                      HoneWords* words) {
  (void)self, (void)commands, (void)closure, (void)words;
  *recording = NULL;
  return HONE_OK;
}
static int32_t replay(void* self, void* recording, void* stream, HoneWords* words) {
  (void)self, (void)recording, (void)stream;
  return say(words, HONE_GPU_FAILED, "nothing is recorded here");
}
static void forget(void* self, void* recording) { (void)self, (void)recording; }

static int32_t wait(void* self, void* stream, HoneWords* words) {
  Opencl* const c = self;
  return wait_for(c, queue_of(c, stream), words);
}

/* Commands of other queues retain the memory that they use until they are done. */
static int32_t wait_for_all(void* self, HoneWords* words) {
  Opencl* const c = self;
  return wait_for(c, c->queue, words);
}

/* --- opening --- */

static int32_t check_stream(void* self, void* stream, HoneWords* words) {
  Opencl* const c = self;
  cl_context context = NULL;
  cl_device_id device = NULL;
  cl_command_queue_properties properties = 0;
  if (!stream) return HONE_OK;
  if (c->cl.clGetCommandQueueInfo(stream, CL_QUEUE_CONTEXT, sizeof(cl_context), &context, NULL) != CL_SUCCESS ||
      c->cl.clGetCommandQueueInfo(stream, CL_QUEUE_DEVICE, sizeof(cl_device_id), &device, NULL) != CL_SUCCESS)
    return say(words, HONE_BAD_ARGUMENTS, "the stream is no cl_command_queue");
  if (context != c->context)
    return say(words, HONE_BAD_ARGUMENTS,
               "the command queue is of another context than the device: hone_gpu_context "
               "is the one that it has, hone_gpu_open_in takes another");
  if (device != c->device)
    return say(words, HONE_BAD_ARGUMENTS, "the command queue is of another device of the context");
  c->cl.clGetCommandQueueInfo(stream, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  return properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE
             ? say(words, HONE_BAD_ARGUMENTS, "the command queue is out of order; models need one in order")
             : HONE_OK;
}

static void close_device(void* self) {
  Opencl* const c = self;
  if (c->last) c->cl.clReleaseEvent(c->last);
  if (c->queue) c->cl.clReleaseCommandQueue(c->queue);
  if (c->context) c->cl.clReleaseContext(c->context);
  free(c);
}

/* The loader is never closed: drivers have threads of their own. */
static int32_t load_functions(Functions* cl, HoneWords* words) {
  static const char* const names[] = {"libOpenCL.so.1", NULL};
  char why[1024];
  void* const library = hone_internal_open_library(names, why, sizeof why);
  if (!library)
    return say(words, HONE_NO_GPU, "no OpenCL: the loader is missing (%s); on Debian it is in ocl-icd-libopencl1", why);
#define HONE_OPENCL_FIND(name)                \
  *(void**)&cl->name = dlsym(library, #name); \
  if (!cl->name) return say(words, HONE_NO_GPU, "no OpenCL: libOpenCL.so.1 has no " #name ": OpenCL 1.2 is needed");
  HONE_OPENCL_FUNCTIONS(HONE_OPENCL_FIND)
#undef HONE_OPENCL_FIND
  return HONE_OK;
}

static void text_of(const Opencl* c, cl_device_id id, cl_device_info what, char* text, size_t room) {
  text[0] = '\0';
  if (c->cl.clGetDeviceInfo(id, what, room - 1, text, NULL) != CL_SUCCESS) text[0] = '\0';
  text[room - 1] = '\0';
}

static int is_usable(const Opencl* c, cl_device_id id) {
  cl_bool is_available = CL_FALSE, has_compiler = CL_FALSE;
  char version[128];
  int major = 0, minor = 0;
  c->cl.clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof is_available, &is_available, NULL);
  c->cl.clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof has_compiler, &has_compiler, NULL);
  text_of(c, id, CL_DEVICE_VERSION, version, sizeof version);
  return is_available && has_compiler && sscanf(version, "OpenCL %d.%d", &major, &minor) == 2 &&
         (major > 1 || (major == 1 && minor >= 2));
}

enum { kMostDevices = 64, kMostPlatforms = 16 };

/* GPUs first, each kind in the order of platforms and of their devices. */
static int32_t list_devices(const Opencl* c, cl_device_id devices[kMostDevices]) {
  static const cl_device_type kinds[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ACCELERATOR, CL_DEVICE_TYPE_CPU};
  cl_platform_id platforms[kMostPlatforms];
  cl_uint platform_count = 0;
  int32_t count = 0;
  if (c->cl.clGetPlatformIDs(kMostPlatforms, platforms, &platform_count) != CL_SUCCESS) return 0;
  if (platform_count > kMostPlatforms) platform_count = kMostPlatforms;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
    for (cl_uint p = 0; p < platform_count; ++p) {
      cl_device_id there[kMostDevices];
      cl_uint n = 0;
      if (c->cl.clGetDeviceIDs(platforms[p], kinds[k], kMostDevices, there, &n) != CL_SUCCESS) continue;
      for (cl_uint i = 0; i < n && i < kMostDevices && count < kMostDevices; ++i)
        if (is_usable(c, there[i])) devices[count++] = there[i];
    }
  return count;
}

static void describe(Opencl* c, int32_t number, HoneOpened* o) {
  static const int32_t no_host_types[] = {0};
  cl_ulong bytes = 0;
  cl_uint units = 0;
  cl_bool is_unified = CL_FALSE;
  text_of(c, c->device, CL_DEVICE_NAME, c->model, sizeof c->model);
  text_of(c, c->device, CL_DRIVER_VERSION, c->version, sizeof c->version);
  c->cl.clGetDeviceInfo(c->device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, NULL);
  c->cl.clGetDeviceInfo(c->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
  c->cl.clGetDeviceInfo(c->device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof is_unified, &is_unified, NULL);
  c->limit = kHoneDefaultLimit;
  o->context = c->context;
  o->limit = &c->limit;
  o->check_stream = check_stream;
  o->close = close_device;
  o->properties = (HoneGpuProperties){.api = "opencl",
                                      .model = c->model,
                                      .driver = c->version,
                                      .arch = "",
                                      .memory_bytes = bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes,
                                      .compute_units = (int32_t)units,
                                      .is_integrated = is_unified,
                                      .device_type = kDLOpenCL,
                                      .device_id = number};
  /* Programs have no numbers of OpenCL's devices: any is taken. */
  o->driver = (HoneDriver){.self = c,
                           .api = "opencl",
                           .device_name = c->model,
                           .arch = "",
                           .device_type = kDLOpenCL,
                           .device_id = -1,
                           .has_addresses = 0,
                           .host_device_types = no_host_types,
                           .allocate = allocate,
                           .deallocate = release,
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
                           .record = record,
                           .replay = replay,
                           .rebind = NULL,
                           .forget = forget,
                           .wait = wait,
                           .wait_for_all = wait_for_all,
                           .allocate_pinned = NULL,
                           .free_pinned = NULL,
                           .fetch = NULL,
                           .side_stream = NULL,
                           .follow = NULL};
}

static int32_t start(Opencl** made, HoneWords* words) {
  Opencl* const c = calloc(1, sizeof *c);
  if (!c) return say(words, HONE_NO_MEMORY, "the host has no memory left");
  const int32_t code = load_functions(&c->cl, words);
  if (code != HONE_OK)
    free(c);
  else
    *made = c;
  return code;
}

static int32_t make_queue(Opencl* c, HoneWords* words) {
  cl_int error = CL_SUCCESS;
  c->queue = c->cl.clCreateCommandQueue(c->context, c->device, 0, &error);
  return check(c, error, words, "a queue of the device");
}

static int32_t open_device(int32_t index, HoneOpened* opened, HoneWords* words) {
  cl_device_id devices[kMostDevices];
  cl_int error = CL_SUCCESS;
  Opencl* c = NULL;
  int32_t code = start(&c, words);
  if (code != HONE_OK) return code;
  const int32_t count = list_devices(c, devices), number = index < 0 ? 0 : index;
  if (number >= count) {
    if (count > 0) text_of(c, devices[0], CL_DEVICE_NAME, c->model, sizeof c->model);
    code = count == 0 ? say(words, HONE_NO_GPU,
                            "no OpenCL device: the loader knows none that can be used (drivers are "
                            "listed in /etc/OpenCL/vendors)")
                      : say(words, HONE_NO_GPU,
                            "there is no opencl:%d; there are %d: opencl:0 to opencl:%d, '%s' the "
                            "first",
                            (int)index, (int)count, (int)count - 1, c->model);
  } else {
    c->device = devices[number];
    c->context = c->cl.clCreateContext(NULL, 1, &c->device, NULL, NULL, &error);
    code = check(c, error, words, "opening opencl:%d", (int)number);
    if (code == HONE_OK) code = make_queue(c, words);
  }
  if (code != HONE_OK)
    close_device(c);
  else
    describe(c, number, opened);
  return code;
}

static int32_t open_in(void* context, void* device, HoneOpened* opened, HoneWords* words) {
  cl_device_id devices[kMostDevices];
  Opencl* c = NULL;
  int32_t code = start(&c, words), number = 0;
  if (code != HONE_OK) return code;
  code = check(c, c->cl.clRetainContext(context), words, "the context");
  if (code == HONE_OK) {
    c->context = context;
    c->device = device;
    code = make_queue(c, words);
  }
  if (code != HONE_OK) {
    close_device(c);
    return code;
  }
  const int32_t count = list_devices(c, devices);
  while (number < count && devices[number] != c->device) ++number;
  describe(c, number < count ? number : -1, opened);
  return HONE_OK;
}

const HoneApi hone_internal_opencl_api = {"opencl", kDLOpenCL, open_device, open_in};
