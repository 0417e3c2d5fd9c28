#include "tests/fakes/fake_cuda.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>

namespace {

hone::FakeCuda* state = new hone::FakeCuda();  // never freed: the library stays loaded

struct Module {
  std::string image;
};
struct Function {
  std::string name;
  int max_dynamic = 48 << 10;
};
struct Event {
  double ms = -1;
};
// Work that a stream records instead of doing it.
using Graph = std::vector<std::function<int()>>;
struct Stream {
  void* context = nullptr;
  std::unique_ptr<Graph> recording;
};
constexpr const char* kKernels[] = {"scale", "crash", "wide"};

#ifdef HONE_FAKE_ADDS
constexpr bool kAdds = true;
#else
constexpr bool kAdds = false;
#endif
constexpr unsigned kCrashingBlocks = 20;

// One call at a time, as drivers do it inside.
std::recursive_mutex mutex;
using Locked = std::lock_guard<std::recursive_mutex>;

// A thread's contexts; the last one is current.
thread_local std::vector<void*> contexts;

void* current() { return contexts.empty() ? nullptr : contexts.back(); }

// Records the call and returns its code.
int called(const std::string& name, const std::string& arguments = "") {
  state->calls.push_back(arguments.empty() ? name : name + " " + arguments);
  if (state->broken) return state->broken;
  const auto failure = state->failures.find(name);
  return failure == state->failures.end() ? 0 : failure->second;
}

// The same of a call that is of the current context.
int called_in_context(const std::string& name, const std::string& arguments = "") {
  if (!current()) ++state->outside;
  return called(name, arguments);
}

// A null stream, the default one, records nothing; the others do while they are told to.
int do_or_record(void* stream, std::function<int()> work) {
  if (stream && static_cast<Stream*>(stream)->recording)
    return static_cast<Stream*>(stream)->recording->push_back(std::move(work)), 0;
  state->streams_used.push_back(stream);
  return work();
}

int waited(int code) {
  if (state->pending) state->broken = state->pending;
  return state->broken ? state->broken : code;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT hone::FakeCuda* fake_cuda_reset() {
  const Locked lock(mutex);
  delete state;
  return state = new hone::FakeCuda();
}

EXPORT int cuInit(unsigned flags) {
  const Locked lock(mutex);
  return called("cuInit", std::to_string(flags));
}
EXPORT int cuDriverGetVersion(int* version) {
  const Locked lock(mutex);
  return *version = state->version, 0;
}
EXPORT int cuDeviceGetCount(int* count) {
  const Locked lock(mutex);
  return *count = state->devices, 0;
}
// A handle need not be the ordinal.
EXPORT int cuDeviceGet(int* device, int ordinal) { return *device = ordinal + 40, 0; }
EXPORT int cuDeviceGetName(char* name, int bytes, int device) {
  const Locked lock(mutex);
  std::strncpy(name, ("Fake GPU " + std::to_string(device - 40)).c_str(), static_cast<size_t>(bytes));
  return state->failures.count("cuDeviceGetName " + std::to_string(device)) ? 1 : 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{80} << 30, 0; }
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  const Locked lock(mutex);
  return *value = state->attributes[attribute], 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  const Locked lock(mutex);
  if (const int code = called("cuDevicePrimaryCtxRetain", std::to_string(device))) return code;
  *context = reinterpret_cast<void*>(static_cast<intptr_t>(device));
  ++state->contexts;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  const Locked lock(mutex);
  return --state->contexts, called("cuDevicePrimaryCtxRelease", std::to_string(device));
}
EXPORT int cuCtxSetCurrent(void* context) {
  if (!context) return 201;
  contexts.assign(1, context);
  return 0;
}
EXPORT int cuCtxGetCurrent(void** context) { return *context = current(), 0; }
EXPORT int cuCtxPushCurrent_v2(void* context) {
  const Locked lock(mutex);
  if (!context) return 201;
  const auto failure = state->failures.find("cuCtxPushCurrent");
  if (failure != state->failures.end()) return failure->second;
  contexts.push_back(context);
  return 0;
}
// These two work on a device that is broken, too: the thread gets back what it had.
EXPORT int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return 201;
  *context = current();
  contexts.pop_back();
  return 0;
}
EXPORT int cuCtxGetDevice(int* device) {
  const Locked lock(mutex);
  if (!current()) return 201;
  const auto of_others = state->contexts_of_others.find(current());
  *device = of_others == state->contexts_of_others.end() ? static_cast<int>(reinterpret_cast<intptr_t>(current()))
                                                         : of_others->second;
  return 0;
}
EXPORT int cuCtxSynchronize() {
  const Locked lock(mutex);
  return waited(called("cuCtxSynchronize"));
}

EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned n, int* options, void** values) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuModuleLoadDataEx")) return code;
  const auto* text = static_cast<const char*>(image);
  // A cubin has zeros in it; its length is in its header, but a fake need not read so far: its tests look for the
  // kernels of texts.
  const bool elf = std::memcmp(text,
                               "\x7f"
                               "ELF",
                               4) == 0;
  if (!elf && !kAdds && std::strncmp(text, "fake", 4) != 0) {
    for (unsigned i = 0; i + 1 < n; ++i)
      if (options[i] == 5 && options[i + 1] == 6)
        std::strncpy(static_cast<char*>(values[i]), "line 1: no fake program", reinterpret_cast<size_t>(values[i + 1]));
    return 218;
  }
  ++state->modules;
  *module = new Module{elf ? "scale crash wide" : text};
  return 0;
}
EXPORT int cuModuleUnload(void* module) {
  const Locked lock(mutex);
  delete static_cast<Module*>(module);
  --state->modules;
  return called_in_context("cuModuleUnload");
}
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
  const Locked lock(mutex);
  static Function functions[] = {{kKernels[0]}, {kKernels[1]}, {kKernels[2]}}, add{"add"};
  if (kAdds) return *function = &add, 0;
  if (static_cast<Module*>(module)->image.find(name) == std::string::npos) return 500;
  for (Function& f : functions)
    if (f.name == name) return f.max_dynamic = 48 << 10, *function = &f, 0;
  return 500;
}
// 40 registers, 1024 bytes of shared memory; `wide` has registers for 256 threads only.
EXPORT int cuFuncGetAttribute(int* value, int attribute, void* function) {
  const bool wide = static_cast<Function*>(function)->name == "wide";
  *value = attribute == 0 ? (wide ? 256 : 1024) : attribute == 1 ? 1024 : attribute == 4 ? (wide ? 255 : 40) : 0;
  return 0;
}
EXPORT int cuFuncSetAttribute(void* function, int attribute, int value) {
  const Locked lock(mutex);
  if (attribute == 8) static_cast<Function*>(function)->max_dynamic = value;
  return called("cuFuncSetAttribute", std::to_string(attribute) + " " + std::to_string(value));
}

EXPORT int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuMemAlloc", std::to_string(bytes))) return code;
  *address = reinterpret_cast<unsigned long long>(std::calloc(1, bytes));
  ++state->buffers;
  return 0;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  const Locked lock(mutex);
  std::free(reinterpret_cast<void*>(address));
  --state->buffers;
  return called_in_context("cuMemFree");
}
EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  const Locked lock(mutex);
  const int code = waited(called("cuMemcpyHtoD", std::to_string(bytes)));
  return code ? code : (std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0);
}
EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  const Locked lock(mutex);
  const int code = waited(called("cuMemcpyDtoH", std::to_string(bytes)));
  return code ? code : (std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0);
}
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuMemcpyHtoDAsync", std::to_string(bytes))) return code;
  state->streams_used.push_back(stream);
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream) {
  const Locked lock(mutex);
  const int code = waited(called_in_context("cuMemcpyDtoHAsync", std::to_string(bytes)));
  state->streams_used.push_back(stream);
  return code ? code : (std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0);
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void* stream) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuMemcpyDtoD", std::to_string(bytes))) return code;
  return do_or_record(
      stream, [=] { return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0; });
}
EXPORT int cuMemsetD8_v2(unsigned long long to, unsigned char byte, size_t bytes) {
  const Locked lock(mutex);
  const int code = called("cuMemsetD8", std::to_string(byte) + " " + std::to_string(bytes));
  return code ? code : (std::memset(reinterpret_cast<void*>(to), byte, bytes), 0);
}

EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned dynamic, void* stream, void** parameters, void** extra) {
  const Locked lock(mutex);
  const auto& f = *static_cast<Function*>(function);
  if (const int code = called_in_context("cuLaunchKernel", f.name + " " + std::to_string(gx) + "x" +
                                                               std::to_string(bx) + " " + std::to_string(dynamic)))
    return code;
  if (gy != 1 || gz != 1 || by != 1 || bz != 1 || extra ||
      static_cast<int>(dynamic) + 1024 > std::max(f.max_dynamic + 1024, 48 << 10))
    return 1;
  std::vector<float*> buffers;
  for (int i = 0; i < (f.name == "add" ? 3 : f.name == "scale" ? 2 : 0); ++i)
    buffers.push_back(reinterpret_cast<float*>(*static_cast<unsigned long long*>(parameters[i])));
  return do_or_record(stream, [=, name = f.name] {
    state->now_ms += state->kernel_ms;
    if (name == "crash" || (name == "add" && gx == kCrashingBlocks)) return state->pending = 700, 0;
    for (unsigned i = 0; i < gx * bx; ++i) {
      if (name == "add") buffers[2][i] = buffers[0][i] + buffers[1][i];
      if (name == "scale") buffers[1][i] = 2 * buffers[0][i];
    }
    return 0;
  });
}

EXPORT int cuStreamCreate(void** stream, unsigned flags) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuStreamCreate", std::to_string(flags))) return code;
  auto* made = new Stream();
  made->context = current();
  return *stream = made, ++state->streams, 0;
}
EXPORT int cuStreamDestroy_v2(void* stream) {
  const Locked lock(mutex);
  return delete static_cast<Stream*>(stream), --state->streams, 0;
}
EXPORT int cuStreamGetCtx(void* stream, void** context) {
  const Locked lock(mutex);
  if (state->broken) return state->broken;
  return *context = stream ? static_cast<Stream*>(stream)->context : current(), 0;
}
// Asked again and again, it is not recorded.
EXPORT int cuStreamQuery(void*) {
  const Locked lock(mutex);
  return state->is_never_ready ? 600 : waited(0);
}
EXPORT int cuStreamSynchronize(void*) {
  const Locked lock(mutex);
  return waited(called_in_context("cuStreamSynchronize"));
}
EXPORT int cuStreamBeginCapture_v2(void* stream, int mode) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuStreamBeginCapture", std::to_string(mode))) return code;
  if (!stream) return 900;
  return static_cast<Stream*>(stream)->recording = std::make_unique<Graph>(), 0;
}
EXPORT int cuStreamEndCapture(void* stream, void** graph) {
  const Locked lock(mutex);
  const int code = called("cuStreamEndCapture");
  std::unique_ptr<Graph> recorded = std::move(static_cast<Stream*>(stream)->recording);
  return code ? code : (*graph = recorded.release(), ++state->graphs, 0);
}
EXPORT int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuGraphInstantiate", std::to_string(static_cast<Graph*>(graph)->size())))
    return code;
  return *exec = new Graph(*static_cast<Graph*>(graph)), ++state->graphs, 0;
}
EXPORT int cuGraphLaunch(void* exec, void* stream) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuGraphLaunch")) return code;
  state->streams_used.push_back(stream);
  for (const auto& work : *static_cast<Graph*>(exec))
    if (const int code = work()) return code;
  return 0;
}
EXPORT int cuGraphExecDestroy(void* exec) {
  const Locked lock(mutex);
  return delete static_cast<Graph*>(exec), --state->graphs, 0;
}
EXPORT int cuGraphDestroy(void* graph) {
  const Locked lock(mutex);
  return delete static_cast<Graph*>(graph), --state->graphs, 0;
}

EXPORT int cuEventCreate(void** event, unsigned flags) {
  const Locked lock(mutex);
  if (const int code = called("cuEventCreate", std::to_string(flags))) return code;
  *event = new Event();
  ++state->events;
  return 0;
}
EXPORT int cuEventDestroy_v2(void* event) {
  const Locked lock(mutex);
  return delete static_cast<Event*>(event), --state->events, 0;
}
EXPORT int cuEventRecord(void* event, void* stream) {
  const Locked lock(mutex);
  static_cast<Event*>(event)->ms = state->now_ms;
  return called("cuEventRecord", stream ? "stream" : "");
}
EXPORT int cuEventSynchronize(void*) {
  const Locked lock(mutex);
  return waited(called("cuEventSynchronize"));
}
EXPORT int cuEventElapsedTime(float* ms, void* from, void* to) {
  *ms = static_cast<float>(static_cast<Event*>(to)->ms - static_cast<Event*>(from)->ms);
  return static_cast<Event*>(from)->ms < 0 || static_cast<Event*>(to)->ms < 0 ? 400 : 0;
}
// NVRTC asks the driver that it finds loaded for tables of functions, and takes it that the question is known.
EXPORT int cuGetExportTable(const void** table, const void*) { return *table = nullptr, 500; }
EXPORT int cuGetErrorName(int code, const char** name) {
  *name = code == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == 100 ? "CUDA_ERROR_NO_DEVICE"
          : code == 218 ? "CUDA_ERROR_INVALID_PTX"
          : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == 701 ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
                        : nullptr;
  return *name ? 0 : 1;
}
EXPORT int cuGetErrorString(int code, const char** text) {
  *text = code == 700 ? "an illegal memory access was encountered" : nullptr;
  return *text ? 0 : 1;
}
