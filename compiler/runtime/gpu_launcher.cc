#include "compiler/runtime/gpu_launcher.h"

#include <fmt/format.h>

#include "compiler/runtime/artifact.h"

namespace hone {
namespace {

int64_t bytes_of(const HoneGpuParam& p, int64_t elements) {
  return elements * ((p.dtype.bits * p.dtype.lanes + 7) / 8);
}

// Under the unified addressing of 64-bit systems a GPU reads and writes memory that CUDA shared with the host by the
// address that the host has.
bool is_reachable(DLDeviceType from, int32_t device_type) {
  return from == device_type || (device_type == kDLCUDA && (from == kDLCUDAManaged || from == kDLCUDAHost));
}

Status check_tensors(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n, int32_t device_type) {
  if (n != program.param_count)
    return absl::InvalidArgumentError(fmt::format("{} tensors for {} parameters", n, program.param_count));
  for (int32_t i = 0; i < n; ++i) {
    const DLTensor* t = args[i];
    const HoneGpuParam& p = program.params[i];
    if (!t || !t->data) return absl::InvalidArgumentError(fmt::format("parameter '{}' has no data", p.name));
    if (!is_reachable(t->device.device_type, device_type))
      return absl::InvalidArgumentError(fmt::format("parameter '{}' is on a device of type {}, not {}", p.name,
                                                    static_cast<int>(t->device.device_type), device_type));
    if (t->dtype.code != p.dtype.code || t->dtype.bits != p.dtype.bits || t->dtype.lanes != p.dtype.lanes)
      return absl::InvalidArgumentError(fmt::format("parameter '{}' has type {}.{}x{}, not {}.{}x{}", p.name,
                                                    t->dtype.code, t->dtype.bits, t->dtype.lanes, p.dtype.code,
                                                    p.dtype.bits, p.dtype.lanes));
  }
  return absl::OkStatus();
}

// InvalidArgument where an entry of the artifact says so of tensors on the CPU.
Status packed_by(HoneEntry entry, const DLTensor& from, const DLTensor& to, const HoneRuntime* rt) {
  const DLTensor* args[] = {&from, &to};
  return status_of(entry(args, 2, nullptr, rt));
}

}  // namespace

GpuLauncher::GpuLauncher(Device& device)
    : device_(device),
      models_(device, [this](const HoneGpuProgram& program) -> StatusOr<const std::vector<BoundLaunch>*> {
        HONE_ASSIGN_OR_RETURN(const Loaded* const loaded, load(program));
        return &loaded->launches;
      }) {
  gpu_.self = this;
  gpu_.run = [](void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n, void* workspace) {
    auto* launcher = static_cast<GpuLauncher*>(self);
    return launcher->code_of(launcher->run(*program, args, n, workspace));
  };
  gpu_.run_plain = [](void* self, const HoneGpuProgram* program, const DLTensor* const* args, int32_t n,
                      const HoneRuntime* rt) {
    auto* launcher = static_cast<GpuLauncher*>(self);
    return launcher->code_of(launcher->run_plain(*program, args, n, rt));
  };
}

HoneRuntime GpuLauncher::runtime(const HoneRuntime* cpu) const {
  // Without threads, chunks run here, one after the other.
  HoneRuntime out{HONE_RUNTIME_ABI, 1, nullptr,
                  [](void*, HoneChunk body, void* closure, int64_t iterations, int32_t, int64_t) {
                    return body(0, iterations, 0, closure);
                  },
                  nullptr};
  if (cpu) out = *cpu;
  out.gpu = &gpu_;
  return out;
}

int32_t GpuLauncher::code_of(Status status) {
  status_ = std::move(status);
  return status_.ok()                                           ? HONE_OK
         : status_.code() == absl::StatusCode::kInvalidArgument ? HONE_BAD_ARGUMENTS
         : status_.code() == absl::StatusCode::kDataLoss        ? HONE_NO_RESULT  // no device says so
                                                                : HONE_GPU_FAILED;
}

Status GpuLauncher::check_device(const HoneGpuProgram& program) const {
  const DeviceInfo& info = device_.info();
  if (program.device_type == (info.api == "cuda" ? kDLCUDA : kDLOpenCL)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("a program for '{}' on '{}', a device of {}", program.target, info.name, info.api));
}

StatusOr<GpuLauncher::Loaded*> GpuLauncher::load(const HoneGpuProgram& program) {
  if (const auto found = loaded_.find(&program); found != loaded_.end()) return &found->second;
  const DeviceInfo& info = device_.info();
  const bool cuda = info.api == "cuda";
  if (program.abi_version != HONE_RUNTIME_ABI)
    return absl::InvalidArgumentError(
        fmt::format("a program of ABI version {}; this runtime has {}", program.abi_version, HONE_RUNTIME_ABI));
  HONE_RETURN_IF_ERROR(check_device(program));
  Loaded out;
  // A failure to compile or load is not an error in the caller's arguments.
  const auto made = [](StatusOr<std::unique_ptr<DeviceProgram>> p) -> StatusOr<std::unique_ptr<DeviceProgram>> {
    if (p.ok() || p.status().code() != absl::StatusCode::kInvalidArgument) return p;
    return absl::FailedPreconditionError(p.status().message());
  };
  const std::string text(program.text, static_cast<size_t>(program.text_bytes));
  if (!cuda) {
    HONE_ASSIGN_OR_RETURN(out.program, made(device_.compile(text)));
  } else if (program.binary && info.arch == program.arch) {
    HONE_ASSIGN_OR_RETURN(out.program,
                          made(device_.load({.bytes = std::string(static_cast<const char*>(program.binary),
                                                                  static_cast<size_t>(program.binary_bytes))})));
  } else {
    HONE_ASSIGN_OR_RETURN(out.program, made(device_.load({.bytes = text})));
  }
  for (int64_t i = 0; i < program.launch_count; ++i) {
    const HoneGpuLaunch& l = program.launches[i];
    HONE_ASSIGN_OR_RETURN(DeviceKernel* const kernel, out.program->kernel(l.kernel));
    out.launches.push_back({kernel, {l.blocks, l.threads, l.dynamic_shared_bytes}});
  }
  return &loaded_.emplace(&program, std::move(out)).first->second;
}

Status GpuLauncher::launch(const Loaded& loaded, const std::vector<DeviceBuffer*>& buffers) {
  for (const auto& [kernel, shape] : loaded.launches) HONE_RETURN_IF_ERROR(device_.launch(*kernel, shape, buffers));
  return absl::OkStatus();
}

Status GpuLauncher::run(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n, void* workspace) {
  Loaded* loaded = nullptr;
  if (is_gpu_model(program)) {
    HONE_RETURN_IF_ERROR(check_device(program));
  } else {
    HONE_ASSIGN_OR_RETURN(loaded, load(program));
  }
  HONE_RETURN_IF_ERROR(check_tensors(program, args, n, program.device_type));
  if (program.workspace_bytes > 0 && !workspace)
    return absl::InvalidArgumentError(fmt::format("no workspace; the program needs {} bytes", program.workspace_bytes));
  std::vector<std::unique_ptr<DeviceBuffer>> wrapped;
  for (int32_t i = 0; i < n; ++i) {
    const bool address = program.device_type == kDLCUDA;
    if (!address && args[i]->byte_offset != 0)
      return absl::InvalidArgumentError(
          fmt::format("parameter '{}' begins {} bytes into its cl_mem; it must begin with it", program.params[i].name,
                      args[i]->byte_offset));
    void* native = static_cast<char*>(args[i]->data) + (address ? args[i]->byte_offset : 0);
    if (address && reinterpret_cast<uintptr_t>(native) % 16 != 0)
      return absl::InvalidArgumentError(fmt::format("parameter '{}' is not 16-byte aligned", program.params[i].name));
    HONE_ASSIGN_OR_RETURN(wrapped.emplace_back(),
                          device_.wrap(native, bytes_of(program.params[i], program.params[i].elements)));
  }
  if (program.workspace_bytes > 0) {
    HONE_ASSIGN_OR_RETURN(wrapped.emplace_back(), device_.wrap(workspace, program.workspace_bytes));
  }
  std::vector<DeviceBuffer*> buffers;
  for (const auto& b : wrapped) buffers.push_back(b.get());
  if (loaded) return launch(*loaded, buffers);
  return models_.run(reinterpret_cast<const HoneGpuModel&>(program), {buffers.data(), static_cast<size_t>(n)},
                     program.workspace_bytes > 0 ? buffers.back() : nullptr);
}

Status GpuLauncher::run_plain(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n,
                              const HoneRuntime* rt) {
  if (is_gpu_model(program)) {
    HONE_RETURN_IF_ERROR(check_device(program));
    HONE_RETURN_IF_ERROR(check_tensors(program, args, n, kDLCPU));
    return models_.run_plain(reinterpret_cast<const HoneGpuModel&>(program), args);
  }
  HONE_ASSIGN_OR_RETURN(Loaded* const loaded, load(program));
  HONE_RETURN_IF_ERROR(check_tensors(program, args, n, kDLCPU));
  if (loaded->buffers.empty()) {
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<AlignedBuffer> packed;
    for (int32_t i = 0; i < n; ++i) {
      const HoneGpuParam& p = program.params[i];
      HONE_ASSIGN_OR_RETURN(buffers.emplace_back(), device_.allocate(bytes_of(p, p.elements)));
      packed.emplace_back(p.pack || p.unpack ? bytes_of(p, p.elements) : 0);
    }
    if (program.workspace_bytes > 0) {
      HONE_ASSIGN_OR_RETURN(buffers.emplace_back(), device_.allocate(program.workspace_bytes));
    }
    loaded->buffers = std::move(buffers);
    loaded->packed = std::move(packed);
  }
  const auto packed_view = [&](int32_t i) {
    DLTensor view = *args[i];
    view.data = loaded->packed[static_cast<size_t>(i)].data();
    view.byte_offset = 0;
    return view;
  };
  std::vector<DeviceBuffer*> buffers;
  for (const auto& b : loaded->buffers) buffers.push_back(b.get());
  for (int32_t i = 0; i < n; ++i) {
    const HoneGpuParam& p = program.params[i];
    if (p.is_output) continue;
    const void* data = static_cast<const char*>(args[i]->data) + args[i]->byte_offset;
    if (p.pack) {
      const DLTensor to = packed_view(i);
      HONE_RETURN_IF_ERROR(packed_by(p.pack, *args[i], to, rt));
      data = to.data;
    }
    HONE_RETURN_IF_ERROR(device_.write(*buffers[static_cast<size_t>(i)], data, bytes_of(p, p.elements)));
  }
  HONE_RETURN_IF_ERROR(launch(*loaded, buffers));
  HONE_RETURN_IF_ERROR(device_.synchronize());
  for (int32_t i = 0; i < n; ++i) {
    const HoneGpuParam& p = program.params[i];
    if (!p.is_output) continue;
    const DLTensor from = packed_view(i);
    void* data = p.unpack ? from.data : static_cast<char*>(args[i]->data) + args[i]->byte_offset;
    HONE_RETURN_IF_ERROR(device_.read(*buffers[static_cast<size_t>(i)], data, bytes_of(p, p.elements)));
    if (p.unpack) HONE_RETURN_IF_ERROR(packed_by(p.unpack, from, *args[i], rt));
  }
  return absl::OkStatus();
}

}  // namespace hone
