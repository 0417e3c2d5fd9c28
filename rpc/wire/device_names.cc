#include "rpc/wire/device_names.h"

#include <fmt/format.h>

namespace hone::wire {
namespace {

constexpr size_t kMaxNamed = 16;

// The first ones of `all`, by commas.
std::string listed(const std::vector<std::string>& all) {
  std::string text;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == kMaxNamed) return fmt::format("{} and {} more", text, all.size() - i);
    text += (i == 0 ? "" : ", ") + all[i];
  }
  return text;
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
      called.push_back(fmt::format("{} is {}, and is for '{}'", device.info.key, state_of(device), device.info.target));
  }
  if (!called.empty()) return listed(called);
  return fmt::format("no device, agent or label is '{}'; there {}", name,
                     all.empty() ? "is no device" : "are: " + listed(all));
}

std::string about_devices(const std::vector<DeviceStatus>& devices) {
  std::vector<std::string> all;
  for (const DeviceStatus& device : devices)
    all.push_back(fmt::format("{} is {}, and is for '{}'", device.info.key, state_of(device), device.info.target));
  return all.empty() ? "no device is there" : listed(all);
}

std::string rough_time(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 172800) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86400);
}

}  // namespace hone::wire
