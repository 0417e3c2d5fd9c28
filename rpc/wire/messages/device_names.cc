#include "rpc/wire/messages/device_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hone::wire {
namespace {

constexpr size_t kMaxNamed = 16;

// The first ones of `all`, by commas.
std::string listed(const std::vector<std::string>& all) {
  const auto more = all.begin() + static_cast<ptrdiff_t>(std::min(all.size(), kMaxNamed));
  return fmt::format("{}{}", fmt::join(all.begin(), more, ", "),
                     more == all.end() ? "" : fmt::format(" and {} more", all.end() - more));
}

std::string state_of(const DeviceStatus& device) {
  if (device.state == "lost") return "lost for " + rough_time(device.lost_s);
  return device.state + (device.why.empty() ? "" : " (" + device.why + ")");
}

}  // namespace

bool is_called(const DeviceStatus& device, const std::string& name) {
  if (device.info.key == name || device.agent == name) return true;
  const size_t equals = name.find('=');
  if (equals == std::string::npos) return false;
  const auto label = device.info.labels.find(name.substr(0, equals));
  return label != device.info.labels.end() && label->second == name.substr(equals + 1);
}

std::string about_devices_called(const std::string& name, const std::vector<DeviceStatus>& devices) {
  std::vector<std::string> called, all;
  for (const DeviceStatus& device : devices) {
    all.push_back(device.info.key);
    if (is_called(device, name))
      called.push_back(fmt::format("{} (target '{}') is {}", device.info.key, device.info.target, state_of(device)));
  }
  if (!called.empty()) return listed(called);
  return fmt::format("no device, agent or label is called '{}'; there {}", name,
                     all.empty() ? "is no device" : "are: " + listed(all));
}

std::string about_devices(const std::vector<DeviceStatus>& devices) {
  std::vector<std::string> all;
  for (const DeviceStatus& device : devices)
    all.push_back(fmt::format("{} (target '{}') is {}", device.info.key, device.info.target, state_of(device)));
  return all.empty() ? "no device is connected" : listed(all);
}

std::string rough_time(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 172800) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86400);
}

}  // namespace hone::wire
