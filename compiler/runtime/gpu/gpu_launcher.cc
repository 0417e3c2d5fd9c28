#include "compiler/runtime/gpu/gpu_launcher.h"

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

// A launch of the launcher's: a kernel, its shape and the buffers that it is given.
struct BoundCall {
  DeviceKernel* kernel = nullptr;
  LaunchShape shape;
  std::vector<DeviceBuffer*> buffers;
};

DeviceBuffer& buffer_of(HoneMemory memory) { return *static_cast<DeviceBuffer*>(memory); }

// Without threads, chunks run here, one after the other.
int32_t run_here(void*, HoneChunk body, void* closure, int64_t iterations, int32_t, int64_t) {
  return body(0, iterations, 0, closure);
}

}  // namespace

// A Device's functions as a driver's; `self` is the GpuLauncher. The device has one queue, so `stream` is null.
struct DeviceAsDriver {
  static GpuLauncher& of(void* self) { return *static_cast<GpuLauncher*>(self); }

  static int32_t code_of(void* self, Status status, HoneWords* words) {
    if (status.ok()) return HONE_OK;
    const int32_t code = hone_internal_say(words, HONE_GPU_FAILED, "%s", message_of(status).c_str());
    of(self).device_status_ = std::move(status);
    return code;
  }
  template <class T>
  static int32_t hand_over(void* self, StatusOr<std::unique_ptr<T>> made, void** to, HoneWords* words) {
    if (!made.ok()) return code_of(self, made.status(), words);
    *to = made->release();
    return HONE_OK;
  }

  static int32_t allocate(void* self, int64_t bytes, HoneMemory* memory, HoneWords* words) {
    return hand_over(self, of(self).device_.allocate(bytes), memory, words);
  }
  static int32_t wrap(void* self, void* native, int64_t bytes, HoneMemory* memory, HoneWords* words) {
    return hand_over(self, of(self).device_.wrap(native, bytes), memory, words);
  }
  static int32_t part(void* self, HoneMemory whole, int64_t offset, int64_t bytes, HoneMemory* memory,
                      HoneWords* words) {
    return hand_over(self, of(self).device_.part(buffer_of(whole), offset, bytes), memory, words);
  }
  static void release(void*, HoneMemory memory) { delete &buffer_of(memory); }

  static int32_t write(void* self, HoneMemory to, int64_t offset, const void* from, int64_t bytes, void*,
                       HoneWords* words) {
    return code_of(self, of(self).device_.write(buffer_of(to), from, bytes, offset), words);
  }
  static int32_t read(void* self, HoneMemory from, int64_t offset, void* to, int64_t bytes, void*, HoneWords* words) {
    return code_of(self, of(self).device_.read(buffer_of(from), to, bytes, offset), words);
  }
  static int32_t copy(void* self, HoneMemory from, HoneMemory to, int64_t bytes, void*, HoneWords* words) {
    return code_of(self, of(self).device_.copy(buffer_of(from), buffer_of(to), bytes), words);
  }

  static int32_t load(void* self, const void* image, int64_t bytes, void** program, HoneWords* words) {
    Device& device = of(self).device_;
    std::string given(static_cast<const char*>(image), static_cast<size_t>(bytes));
    return hand_over(
        self,
        gpu_kind(device.info().api).compiles_ahead ? device.load({.bytes = std::move(given)}) : device.compile(given),
        program, words);
  }
  static void unload(void*, void* program) { delete static_cast<DeviceProgram*>(program); }

  static int32_t bind(void* self, void* program, const HoneGpuLaunch* launch, int32_t count, void** bound,
                      HoneWords* words) {
    const StatusOr<DeviceKernel*> kernel = static_cast<DeviceProgram*>(program)->kernel(launch->kernel);
    if (!kernel.ok()) return code_of(self, kernel.status(), words);
    *bound = new BoundCall{*kernel,
                           {launch->blocks, launch->threads, launch->dynamic_shared_bytes},
                           std::vector<DeviceBuffer*>(static_cast<size_t>(count))};
    return HONE_OK;
  }
  static int32_t set_argument(void*, void* bound, int32_t index, HoneMemory memory, HoneWords*) {
    static_cast<BoundCall*>(bound)->buffers[static_cast<size_t>(index)] = &buffer_of(memory);
    return HONE_OK;
  }
  static void unbind(void*, void* bound) { delete static_cast<BoundCall*>(bound); }
  static int32_t enqueue(void* self, void* bound, void*, HoneWords* words) {
    const auto& call = *static_cast<BoundCall*>(bound);
    return code_of(self, of(self).device_.launch(*call.kernel, call.shape, call.buffers), words);
  }

  static int32_t record(void* self, int32_t (*commands)(void*, void*), void* closure, void** recording,
                        HoneWords* words) {
    return hand_over(self, of(self).device_.record([&] {
      return commands(closure, nullptr) == HONE_OK ? absl::OkStatus() : absl::InternalError("recording failed");
    }),
                     recording, words);
  }
  static int32_t replay(void* self, void* recording, void*, HoneWords* words) {
    return code_of(self, of(self).device_.replay(*static_cast<DeviceRecording*>(recording)), words);
  }
  static void forget(void*, void* recording) { delete static_cast<DeviceRecording*>(recording); }

  static int32_t wait(void* self, void*, HoneWords* words) {
    return code_of(self, of(self).device_.synchronize(), words);
  }

  // The device has one queue.
  static int32_t wait_for_all(void* self, HoneWords* words) { return wait(self, nullptr, words); }

  static HoneDriver driver(GpuLauncher& launcher, const DeviceInfo& info, const int32_t* host_device_types) {
    const GpuKind& kind = gpu_kind(info.api);
    return {.self = &launcher,
            .api = info.api.c_str(),
            .device_name = info.name.c_str(),
            .arch = kind.compiles_ahead ? info.arch.c_str() : "",
            .device_type = kind.device_type,
            .device_id = -1,
            .has_addresses = kind.has_addresses,
            .host_device_types = host_device_types,
            .allocate = allocate,
            .deallocate = release,
            .wrap = wrap,
            .part = part,
            .release = release,
            .write = write,
            .read = read,
            .copy = copy,
            .load = load,
            .unload = unload,
            .bind = bind,
            .set_argument = set_argument,
            .unbind = unbind,
            .enqueue = enqueue,
            .record = record,
            .replay = replay,
            .rebind = nullptr,
            .forget = forget,
            .wait = wait,
            .wait_for_all = wait_for_all,
            .allocate_pinned = nullptr,
            .free_pinned = nullptr,
            .fetch = nullptr,
            .side_stream = nullptr,
            .follow = nullptr};
  }
};

GpuLauncher::GpuLauncher(Device& device) : device_(device), launcher_(nullptr, &hone_internal_launcher_free) {
  for (const int32_t type : gpu_kind(device.info().api).host_device_types) host_device_types_.push_back(type);
  host_device_types_.push_back(0);
  const HoneDriver driver = DeviceAsDriver::driver(*this, device.info(), host_device_types_.data());
  launcher_.reset(hone_internal_launcher_new(&driver));
  if (!launcher_) throw std::bad_alloc();
  gpu_.self = this;
  gpu_.run = [](void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n, void* workspace) {
    return static_cast<GpuLauncher*>(self)->call(*program, args, n, workspace, nullptr,
                                                 {.where = HONE_ON_DEVICE, .stream = nullptr, .is_async = 1});
  };
  gpu_.run_plain = [](void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                      const HoneRuntime* rt) {
    return static_cast<GpuLauncher*>(self)->call(*program, args, n, nullptr, rt,
                                                 {.where = HONE_ON_CPU, .stream = nullptr, .is_async = 0});
  };
}

HoneRuntime GpuLauncher::runtime(const HoneRuntime* cpu) const {
  HoneRuntime out{HONE_RUNTIME_ABI, 1, nullptr, run_here, nullptr};
  if (cpu) out = *cpu;
  out.gpu = &gpu_;
  return out;
}

int32_t GpuLauncher::call(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n, void* workspace,
                          const HoneRuntime* rt, const HoneCallMode& mode) {
  device_status_ = absl::OkStatus();
  const int32_t code = hone_internal_launch(launcher_.get(), &program, args, n, workspace, rt, &mode);
  const std::string words = hone_internal_launcher_words(launcher_.get())->text;
  status_ = code == HONE_OK              ? absl::OkStatus()
            : code == HONE_BAD_ARGUMENTS ? absl::InvalidArgumentError(words)
            : code == HONE_NO_RESULT     ? absl::DataLossError(words)  // no device says so
            : device_status_.ok()        ? absl::InternalError(words)
                                         : device_status_;
  return code;
}

}  // namespace hone
