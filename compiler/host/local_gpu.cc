#include "compiler/host/local_gpu.h"

#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "compiler/codegen/device/device_code.h"
#include "compiler/runtime/gpu/drivers.h"
#include "compiler/target/gpu_kinds.h"

namespace hone {
namespace {

void check(const Status& status) { HONE_USER_CHECK(status.ok()) << message_of(status); }

template <class T>
T checked(StatusOr<T> value) {
  check(value.status());
  return *std::move(value);
}

// How well a device `here` runs code made for `wanted`; 0: not at all.
int suits(const Target& wanted, const Target& here, const DeviceInfo& device) {
  if (!wanted.is_complete()) return device.kind == "gpu" ? 2 : 1;
  if (here == wanted) return 2;
  const bool room = device.max_local_bytes >= wanted.shared_bytes && device.max_threads >= wanted.max_threads;
  return room && here.arch == wanted.arch && here.warp % wanted.warp == 0 ? 1 : 0;
}

StatusOr<std::unique_ptr<DeviceProgram>> compile(Device& device, const Module& m, const Target& target,
                                                 std::vector<GpuLaunch>* launches) {
  GpuSource source = gpu_text(m, target);
  *launches = source.launches;
  auto program = device.compile(source.text);
  // Without its vendor's compiler, or with one that no longer supports the GPU, the driver takes LLVM's code.
  if (gpu_kind(target.kind).compiles_ahead && program.status().code() == absl::StatusCode::kNotFound)
    return device.load({.bytes = image_code(m, target, nullptr).bytes});
  return program;
}

}  // namespace

StatusOr<LocalGpu> open_local_gpu(const Target& target) {
  auto driver = load_driver(target.kind, nvrtc_here());
  if (!driver.ok()) return absl::UnavailableError(message_of(driver.status()));
  LocalGpu out{std::move(*driver), nullptr, {}};
  int best = 0;
  size_t index = 0;
  std::vector<std::string> all;
  for (size_t i = 0; i < out.driver->devices().size(); ++i) {
    const DeviceInfo& device = out.driver->devices()[i];
    const std::string text = target_text(device);
    all.push_back(fmt::format("'{}' ({})", text, device.name));
    Target here;
    try {
      here = Target::parse(text);
    } catch (const UserError&) {
      continue;  // an architecture of a later version
    }
    if (const int n = suits(target, here, device); n > best) best = n, index = i, out.target = here;
  }
  if (best == 0)
    return absl::UnavailableError(
        fmt::format("no device here runs '{}'; there is {}", to_string(target), absl::StrJoin(all, ", ")));
  HONE_ASSIGN_OR_RETURN(out.device, out.driver->open(index));
  return out;
}

LocalGpuKernel::LocalGpuKernel(const Module& m, const Target& target, Device& device) : module_(m), device_(device) {
  std::vector<GpuLaunch> launches;
  program_ = checked(compile(device, m, target, &launches));
  for (const GpuLaunch& l : launches) launches_.push_back({checked(program_->kernel(l.kernel)), l.shape});
  for (const Param& p : m.params)
    buffers_.push_back(checked(device.allocate(p.layout.physical_size() * p.dtype.bytes())));
  if (m.workspace_bytes > 0) buffers_.push_back(checked(device.allocate(m.workspace_bytes)));
  for (const auto& b : buffers_) arguments_.push_back(b.get());
}

void LocalGpuKernel::set_input(size_t i, const void* logical) {
  const Param& p = module_.params[i];
  std::vector<char> physical(static_cast<size_t>(physical_bytes(i)));
  pack(logical, physical.data(), p.shape, p.layout, p.dtype.bytes());
  write_physical(i, physical.data());
}

void LocalGpuKernel::write_physical(size_t i, const void* bytes) {
  check(device_.write(*buffers_[i], bytes, physical_bytes(i)));
}

std::vector<char> LocalGpuKernel::get_output(size_t i) const {
  const Param& p = module_.params[i];
  std::vector<char> physical(static_cast<size_t>(physical_bytes(i))),
      logical(static_cast<size_t>(element_count(p.shape) * p.dtype.bytes()));
  check(device_.read(*buffers_[i], physical.data(), physical_bytes(i)));
  unpack(physical.data(), logical.data(), p.shape, p.layout, p.dtype.bytes());
  return logical;
}

Status LocalGpuKernel::launch() {
  for (const BoundLaunch& l : launches_) HONE_RETURN_IF_ERROR(device_.launch(*l.kernel, l.shape, arguments_));
  return absl::OkStatus();
}

}  // namespace hone
