#include "tests/fakes/fake_cuda.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

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
  std::unique_ptr<Graph> recording;
};
constexpr const char* kKernels[] = {"scale", "crash", "wide"};

#ifdef HONE_FAKE_ADDS
constexpr bool kAdds = true;
#else
constexpr bool kAdds = false;
#endif
constexpr unsigned kCrashingBlocks = 20;

// Records the call and returns its code.
int called(const std::string& name, const std::string& arguments = "") {
  state->calls.push_back(arguments.empty() ? name : name + " " + arguments);
  if (state->broken) return state->broken;
  const auto failure = state->failures.find(name);
  return failure == state->failures.end() ? 0 : failure->second;
}

// A null stream, the default one, records nothing; the others do nothing else.
int do_or_record(void* stream, std::function<int()> work) {
  if (!stream) return work();
  if (!static_cast<Stream*>(stream)->recording) return 1;
  return static_cast<Stream*>(stream)->recording->push_back(std::move(work)), 0;
}

int waited(int code) {
  if (state->pending) state->broken = state->pending;
  return state->broken ? state->broken : code;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT hone::FakeCuda* fake_cuda_reset() {
  delete state;
  return state = new hone::FakeCuda();
}

EXPORT int cuInit(unsigned flags) { return called("cuInit", std::to_string(flags)); }
// NVRTC asks for functions of the driver's own, and goes on without them only where it is told that there are none.
EXPORT int cuGetExportTable(const void** table, const void*) { return *table = nullptr, 500; }
EXPORT int cuDriverGetVersion(int* version) { return *version = state->version, 0; }
EXPORT int cuDeviceGetCount(int* count) { return *count = state->devices, 0; }
// A handle need not be the ordinal.
EXPORT int cuDeviceGet(int* device, int ordinal) { return *device = ordinal + 40, 0; }
EXPORT int cuDeviceGetName(char* name, int bytes, int device) {
  std::strncpy(name, ("Fake GPU " + std::to_string(device - 40)).c_str(), static_cast<size_t>(bytes));
  return state->failures.count("cuDeviceGetName " + std::to_string(device)) ? 1 : 0;
}
EXPORT int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = size_t{80} << 30, 0; }
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) { return *value = state->attributes[attribute], 0; }

EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (const int code = called("cuDevicePrimaryCtxRetain", std::to_string(device))) return code;
  *context = reinterpret_cast<void*>(static_cast<intptr_t>(device));
  ++state->contexts;
  return 0;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
  return --state->contexts, called("cuDevicePrimaryCtxRelease", std::to_string(device));
}
EXPORT int cuCtxSetCurrent(void* context) { return context ? 0 : 201; }
EXPORT int cuCtxSynchronize() { return waited(called("cuCtxSynchronize")); }

EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned n, int* options, void** values) {
  if (const int code = called("cuModuleLoadDataEx")) return code;
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
  delete static_cast<Module*>(module);
  --state->modules;
  return called("cuModuleUnload");
}
EXPORT int cuModuleGetFunction(void** function, void* module, const char* name) {
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
  if (attribute == 8) static_cast<Function*>(function)->max_dynamic = value;
  return called("cuFuncSetAttribute", std::to_string(attribute) + " " + std::to_string(value));
}

EXPORT int cuMemAlloc_v2(unsigned long long* address, size_t bytes) {
  if (const int code = called("cuMemAlloc", std::to_string(bytes))) return code;
  *address = reinterpret_cast<unsigned long long>(std::calloc(1, bytes));
  ++state->buffers;
  return 0;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  std::free(reinterpret_cast<void*>(address));
  --state->buffers;
  return called("cuMemFree");
}
EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  const int code = waited(called("cuMemcpyHtoD", std::to_string(bytes)));
  return code ? code : (std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0);
}
EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  const int code = waited(called("cuMemcpyDtoH", std::to_string(bytes)));
  return code ? code : (std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0);
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void* stream) {
  if (const int code = called("cuMemcpyDtoD", std::to_string(bytes))) return code;
  return do_or_record(
      stream, [=] { return std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), 0; });
}
EXPORT int cuMemsetD8_v2(unsigned long long to, unsigned char byte, size_t bytes) {
  const int code = called("cuMemsetD8", std::to_string(byte) + " " + std::to_string(bytes));
  return code ? code : (std::memset(reinterpret_cast<void*>(to), byte, bytes), 0);
}

EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned dynamic, void* stream, void** parameters, void** extra) {
  const auto& f = *static_cast<Function*>(function);
  if (const int code = called("cuLaunchKernel", f.name + " " + std::to_string(gx) + "x" + std::to_string(bx) + " " +
                                                    std::to_string(dynamic)))
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
  if (const int code = called("cuStreamCreate", std::to_string(flags))) return code;
  return *stream = new Stream(), ++state->streams, 0;
}
EXPORT int cuStreamDestroy_v2(void* stream) { return delete static_cast<Stream*>(stream), --state->streams, 0; }
EXPORT int cuStreamBeginCapture_v2(void* stream, int mode) {
  if (const int code = called("cuStreamBeginCapture", std::to_string(mode))) return code;
  if (!stream) return 900;
  return static_cast<Stream*>(stream)->recording = std::make_unique<Graph>(), 0;
}
EXPORT int cuStreamEndCapture(void* stream, void** graph) {
  const int code = called("cuStreamEndCapture");
  std::unique_ptr<Graph> recorded = std::move(static_cast<Stream*>(stream)->recording);
  return code ? code : (*graph = recorded.release(), ++state->graphs, 0);
}
EXPORT int cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  if (const int code = called("cuGraphInstantiate", std::to_string(static_cast<Graph*>(graph)->size()))) return code;
  return *exec = new Graph(*static_cast<Graph*>(graph)), ++state->graphs, 0;
}
EXPORT int cuGraphLaunch(void* exec, void*) {
  if (const int code = called("cuGraphLaunch")) return code;
  for (const auto& work : *static_cast<Graph*>(exec))
    if (const int code = work()) return code;
  return 0;
}
EXPORT int cuGraphExecDestroy(void* exec) { return delete static_cast<Graph*>(exec), --state->graphs, 0; }
EXPORT int cuGraphDestroy(void* graph) { return delete static_cast<Graph*>(graph), --state->graphs, 0; }

EXPORT int cuEventCreate(void** event, unsigned flags) {
  if (const int code = called("cuEventCreate", std::to_string(flags))) return code;
  *event = new Event();
  ++state->events;
  return 0;
}
EXPORT int cuEventDestroy_v2(void* event) { return delete static_cast<Event*>(event), --state->events, 0; }
EXPORT int cuEventRecord(void* event, void* stream) {
  static_cast<Event*>(event)->ms = state->now_ms;
  return called("cuEventRecord", stream ? "stream" : "");
}
EXPORT int cuEventSynchronize(void*) { return waited(called("cuEventSynchronize")); }
EXPORT int cuEventElapsedTime(float* ms, void* from, void* to) {
  *ms = static_cast<float>(static_cast<Event*>(to)->ms - static_cast<Event*>(from)->ms);
  return static_cast<Event*>(from)->ms < 0 || static_cast<Event*>(to)->ms < 0 ? 400 : 0;
}
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
