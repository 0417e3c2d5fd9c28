#include "compiler/runtime/gpu/gpu_launcher.h"

#include <fmt/format.h>

#include "compiler/runtime/artifact.h"
#include "compiler/runtime/gpu/gpu_caches.h"
#include "compiler/runtime/gpu/gpu_tensors.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

int64_t bytes_of(const HoneGpuParam& p, int64_t elements) { return elements * element_bytes(p); }

// `on_cpu`: on the CPU, instead of on the program's device. The caches of models have checks of their own.
Status check_tensors(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n, bool on_cpu) {
  if (n != program.param_count)
    return absl::InvalidArgumentError(fmt::format("{} tensors for {} parameters", n, program.param_count));
  for (int32_t i = 0; i < n; ++i) {
    if (is_gpu_model(program) && cache_of(reinterpret_cast<const HoneGpuModel&>(program), i)) continue;
    HONE_RETURN_IF_ERROR(check_tensor(program, i, args[i], on_cpu));
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
  if (program.device_type == gpu_kind(info.api).device_type) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("a program for '{}' on '{}', a device of {}", program.target, info.name, info.api));
}

StatusOr<GpuLauncher::Loaded*> GpuLauncher::load(const HoneGpuProgram& program) {
  if (const auto found = loaded_.find(&program); found != loaded_.end()) return &found->second;
  const DeviceInfo& info = device_.info();
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
  if (!gpu_kind(info.api).compiles_ahead) {
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
  HONE_RETURN_IF_ERROR(check_tensors(program, args, n, /*on_cpu=*/false));
  if (program.workspace_bytes > 0 && !workspace)
    return absl::InvalidArgumentError(fmt::format("no workspace; the program needs {} bytes", program.workspace_bytes));
  const auto* const model = loaded ? nullptr : &reinterpret_cast<const HoneGpuModel&>(program);
  int64_t rows = 0;
  if (model) {
    HONE_ASSIGN_OR_RETURN(rows, rows_of(*model, args, /*cpu_too=*/false));
  }
  std::vector<std::unique_ptr<DeviceBuffer>> wrapped;
  std::vector<DeviceBuffer*> buffers;
  for (int32_t i = 0; i < n; ++i) {
    const HoneGpuCache* const cache = model ? cache_of(*model, i) : nullptr;
    const int32_t at = cache ? cache->output : i;  // an input of no rows may be without data
    HONE_ASSIGN_OR_RETURN(
        wrapped.emplace_back(),
        wrap_tensor(device_, program, at, *args[at],
                    cache ? cache_bytes(*cache) : bytes_of(program.params[i], program.params[i].elements)));
    buffers.push_back(wrapped.back().get());
  }
  if (program.workspace_bytes > 0) {
    HONE_ASSIGN_OR_RETURN(wrapped.emplace_back(), device_.wrap(workspace, program.workspace_bytes));
    buffers.push_back(wrapped.back().get());
  }
  if (loaded) return launch(*loaded, buffers);
  return models_.run(*model, {buffers.data(), static_cast<size_t>(n)},
                     program.workspace_bytes > 0 ? buffers.back() : nullptr, rows);
}

Status GpuLauncher::run_plain(const HoneGpuProgram& program, const DLTensor* const* args, int32_t n,
                              const HoneRuntime* rt) {
  if (is_gpu_part(program)) {
    const auto& part = reinterpret_cast<const HoneGpuPart&>(program);
    HONE_RETURN_IF_ERROR(check_device(program));
    HONE_RETURN_IF_ERROR(check_tensors(part.whole->head, args, n, /*on_cpu=*/true));
    return models_.run_part(part, args);
  }
  if (is_gpu_model(program)) {
    HONE_RETURN_IF_ERROR(check_device(program));
    HONE_RETURN_IF_ERROR(check_tensors(program, args, n, /*on_cpu=*/true));
    return models_.run_plain(reinterpret_cast<const HoneGpuModel&>(program), args);
  }
  HONE_ASSIGN_OR_RETURN(Loaded* const loaded, load(program));
  HONE_RETURN_IF_ERROR(check_tensors(program, args, n, /*on_cpu=*/true));
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
