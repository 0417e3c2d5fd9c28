#include "rpc/agent/device/device_discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/runtime/gpu/drivers.h"
#include "compiler/target/gpu_kinds.h"

namespace hone::agent {
namespace {

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
    if (name == info.api && gpu_kind(info.api).compiles_ahead) d.spec.api_major = std::atoi(version.c_str());
  }
  return d;
}

}  // namespace

std::string offered_as(const DeviceInfo& device, const std::vector<FoundDevice>& offered) {
  for (const FoundDevice& d : offered) {
    const GpuKind& kind = gpu_kind(target_kind_of(d.spec.kind));
    if (kind.name != device.api && !kind.opencl_platform.empty() && kind.opencl_platform == device.platform &&
        d.model == device.name)
      return std::string(kind.name);
  }
  return "";
}

DeviceList find_devices(const std::vector<DeviceKind>& kinds) {
  DeviceList list;
  for (const DeviceKind kind : kinds) {
    const auto driver = load_driver(target_kind_of(kind));
    if (!driver.ok()) {
      list.skipped.push_back(fmt::format("{}: {}", target_kind_of(kind), message_of(driver.status())));
      continue;
    }
    for (size_t i = 0; i < (*driver)->devices().size(); ++i) {
      const DeviceInfo& info = (*driver)->devices()[i];
      if (const std::string other = offered_as(info, list.devices); !other.empty())
        list.skipped.push_back(fmt::format("{0}: '{1}' is offered as a device of {2} (--target {0} alone offers it so)",
                                           info.api, info.name, other));
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
  HONE_ASSIGN_OR_RETURN(const auto driver, load_driver(target_kind_of(spec.kind)));
  const auto index = static_cast<size_t>(spec.index);
  if (index >= driver->devices().size())
    return absl::NotFoundError(fmt::format("{} is not there any more", device_name(spec)));
  *found = describe(spec.kind, spec.index, driver->devices()[index]);
  return driver->open(index, options);
}

}  // namespace hone::agent
