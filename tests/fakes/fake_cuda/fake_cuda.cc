// Devices, memory, modules and launches of the fake CUDA driver.
#include "tests/fakes/fake_cuda/driver.h"

using namespace hone::fake_driver;

EXPORT hone::FakeCuda* fake_cuda_reset() {
  const Locked lock(mutex);
  delete state;
  default_streams.clear(), streams.clear(), events.clear(), execs.clear(), graphs.clear();
  memory.clear();
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
  const int code = called("cuCtxSynchronize");
  stream_of(nullptr)->run_all();
  for (const auto& [handle, s] : streams)
    if (s->context == current()) s->run_all();
  return waited(code);
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
  void* const made = std::memset(memory.allocate(bytes, current(), false), 0, bytes);
  *address = reinterpret_cast<unsigned long long>(made);
  ++state->buffers;
  return 0;
}
EXPORT int cuMemFree_v2(unsigned long long address) {
  const Locked lock(mutex);
  if (!memory.free(at(address), false)) return refuse("freeing what is no buffer");
  --state->buffers;
  return called_in_context("cuMemFree");
}
EXPORT int cuMemHostAlloc(void** made, size_t bytes, unsigned flags) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuMemHostAlloc", std::to_string(bytes) + " " + std::to_string(flags)))
    return code;
  *made = std::memset(memory.allocate(bytes, current(), true), 0, bytes);
  ++state->pinned;
  return 0;
}
EXPORT int cuMemFreeHost(void* pinned) {
  const Locked lock(mutex);
  if (!memory.free(pinned, true)) return refuse("freeing what is no pinned memory");
  --state->pinned;
  return called_in_context("cuMemFreeHost");
}
EXPORT int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t bytes) {
  const Locked lock(mutex);
  const int called_code = called("cuMemcpyHtoD", std::to_string(bytes));
  finish_default();
  const int code = waited(called_code);
  return code ? code : copying(at(to), from, bytes)();
}
EXPORT int cuMemcpyDtoH_v2(void* to, unsigned long long from, size_t bytes) {
  const Locked lock(mutex);
  const int called_code = called("cuMemcpyDtoH", std::to_string(bytes));
  finish_default();
  const int code = waited(called_code);
  return code ? code : copying(to, at(from), bytes)();
}
// Bytes of pageable memory are taken now, those of pinned memory when the copy runs.
EXPORT int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuMemcpyHtoDAsync", std::to_string(bytes))) return code;
  if (memory.is_pinned(from)) return do_or_record(stream, copying(at(to), from, bytes));
  ++state->pageable;
  const std::string taken(static_cast<const char*>(from), bytes);
  return do_or_record(stream, [=, context = current()] {
    if (!may_use(at(to), bytes, context)) return state->pending = kIllegalAddress, 0;
    return std::memcpy(at(to), taken.data(), bytes), 0;
  });
}
// To pageable memory it is done on return.
EXPORT int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuMemcpyDtoHAsync", std::to_string(bytes))) return code;
  const int sent = do_or_record(stream, copying(to, at(from), bytes));
  if (sent != 0 || memory.is_pinned(to)) return sent;
  ++state->pageable;
  if (!state->is_never_ready) stream_of(stream)->run_all();
  return waited(0);
}
EXPORT int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void* stream) {
  const Locked lock(mutex);
  if (const int code = called_in_context("cuMemcpyDtoD", std::to_string(bytes))) return code;
  return do_or_record(stream, copying(at(to), at(from), bytes));
}
EXPORT int cuMemsetD8_v2(unsigned long long to, unsigned char byte, size_t bytes) {
  const Locked lock(mutex);
  const int code = called("cuMemsetD8", std::to_string(byte) + " " + std::to_string(bytes));
  finish_default();
  return code ? code : (std::memset(at(to), byte, bytes), 0);
}

EXPORT int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned dynamic, void* stream, void** parameters, void** extra) {
  const Locked lock(mutex);
  Work work;
  const int code = make_launch("cuLaunchKernel", {function, gx, gy, gz, bx, by, bz, dynamic, parameters, extra}, &work);
  return code ? code : do_or_record(stream, std::move(work));
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
