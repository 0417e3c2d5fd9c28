#include "rpc/agent/device/device_discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/runtime/gpu/cuda_driver.h"
#include "compiler/runtime/gpu/opencl.h"

namespace hone::agent {
namespace {

StatusOr<std::unique_ptr<DeviceDriver>> load_driver(DeviceKind kind) {
  if (kind == DeviceKind::kOpencl) return load_opencl();
  if (kind == DeviceKind::kCuda) return load_cuda();
  return absl::InvalidArgumentError("a CPU has no driver");
}

FoundDevice describe(DeviceKind kind, int index, const DeviceInfo& info) {
  FoundDevice d;
  d.spec = {kind, index, 0};
  d.target = target_text(info);
  d.model = info.name;
  d.memory_bytes = static_cast<uint64_t>(info.memory_bytes);
  d.on_host = info.kind == "cpu";
  if (info.capability_major > 0)
    d.compute_capability = fmt::format("{}.{}", info.capability_major, info.capability_minor);
  for (const auto& [name, version] : info.versions) {
    d.version_names.push_back(name);
    d.versions.push_back(version);
    if (kind == DeviceKind::kCuda && name == "cuda") d.spec.cuda_major = std::atoi(version.c_str());
  }
  return d;
}

}  // namespace

bool is_offered_as_cuda(const DeviceInfo& device, const std::vector<FoundDevice>& offered) {
  return device.api == "opencl" && device.platform == "NVIDIA CUDA" &&
         std::any_of(offered.begin(), offered.end(),
                     [&](const FoundDevice& d) { return d.spec.kind == DeviceKind::kCuda && d.model == device.name; });
}

DeviceList find_devices(const std::vector<DeviceKind>& kinds) {
  DeviceList list;
  for (const DeviceKind kind : kinds) {
    const auto driver = load_driver(kind);
    if (!driver.ok()) {
      list.skipped.push_back(fmt::format("{}: {}", target_kind_of(kind), message_of(driver.status())));
      continue;
    }
    for (size_t i = 0; i < (*driver)->devices().size(); ++i) {
      const DeviceInfo& info = (*driver)->devices()[i];
      if (is_offered_as_cuda(info, list.devices))
        list.skipped.push_back(fmt::format(
            "opencl: '{}' is offered as a CUDA device (--target opencl alone offers it by OpenCL)", info.name));
      else
        list.devices.push_back(describe(kind, static_cast<int>(i), info));
    }
    for (const std::string& why : (*driver)->skipped())
      list.skipped.push_back(fmt::format("{}: {}", target_kind_of(kind), why));
  }
  return list;
}

StatusOr<std::unique_ptr<Device>> open_device(const DeviceSpec& spec, const DeviceOptions& options,
                                              FoundDevice* found) {
  HONE_ASSIGN_OR_RETURN(const auto driver, load_driver(spec.kind));
  const auto index = static_cast<size_t>(spec.index);
  if (index >= driver->devices().size())
    return absl::NotFoundError(fmt::format("{} is not there any more", device_name(spec)));
  *found = describe(spec.kind, spec.index, driver->devices()[index]);
  return driver->open(index, options);
}

}  // namespace hone::agent
