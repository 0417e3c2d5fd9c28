#include "tracker/device_registry.h"

#include <fmt/format.h>

namespace hone::tracker {

Status DeviceRegistry::connect(const std::string& name, const wire::Uuid& instance, ConnectionId connection,
                               const std::vector<wire::DeviceInfo>& infos) {
  std::set<std::string> keys;
  for (const wire::DeviceInfo& info : infos) {
    if (info.key.rfind(name + "/", 0) != 0)
      return absl::InvalidArgumentError(fmt::format("device '{}' of agent '{}' must be called {}/…", info.key, name, name));
    if (!keys.insert(info.key).second) return absl::InvalidArgumentError(fmt::format("agent '{}' names device '{}' twice", name, info.key));
  }
  if (name.find('/') != std::string::npos || name.find('=') != std::string::npos)
    return absl::InvalidArgumentError(fmt::format("agent name '{}': '/' and '=' are not allowed", name));
  Agent& agent = agents_[name];
  const bool restarted = agent.instance != instance;
  if (agent.connection) by_connection_.erase(*agent.connection);
  for (const std::string& old : agent.devices)
    if (!keys.contains(old)) devices_.erase(old);
  agent.name = name;
  agent.instance = instance;
  agent.connection = connection;
  agent.connected_at = agent.heard_at = clock_.now();
  agent.devices = keys;
  by_connection_[connection] = name;
  for (const wire::DeviceInfo& info : infos) {
    Device& device = devices_[info.key];
    device.info = info;
    device.agent = name;
    device.credits = 0;
    if (!restarted) continue;
    device.strikes = device.failures = device.others_ok = 0;
    if (device.mark == Mark::kQuarantined && device.mark_is_ours) device.mark = Mark::kNone, device.why.clear();
  }
  return absl::OkStatus();
}

Agent* DeviceRegistry::by_connection(ConnectionId connection) {
  const auto it = by_connection_.find(connection);
  return it == by_connection_.end() ? nullptr : &agents_.at(it->second);
}

Agent* DeviceRegistry::agent(const std::string& name) {
  const auto it = agents_.find(name);
  return it == agents_.end() ? nullptr : &it->second;
}

Device* DeviceRegistry::device(const std::string& key) {
  const auto it = devices_.find(key);
  return it == devices_.end() ? nullptr : &it->second;
}

void DeviceRegistry::disconnect(Agent& agent) {
  if (!agent.connection) return;
  by_connection_.erase(*agent.connection);
  agent.connection.reset();
  agent.lost_at = clock_.now();
  for (const std::string& key : agent.devices) devices_.at(key).credits = 0;
}

void DeviceRegistry::forget_lost(Clock::TimePoint then) {
  for (auto it = agents_.begin(); it != agents_.end();) {
    if (it->second.connection || it->second.lost_at > then) {
      ++it;
      continue;
    }
    for (const std::string& key : it->second.devices) devices_.erase(key);
    it = agents_.erase(it);
  }
}

bool DeviceRegistry::usable(const Device& device) const {
  return device.mark == Mark::kNone && agents_.at(device.agent).connection.has_value();
}

bool DeviceRegistry::present(const Device& device, Clock::Duration grace) const {
  if (device.mark != Mark::kNone) return false;
  const Agent& agent = agents_.at(device.agent);
  return agent.connection.has_value() || clock_.now() - agent.lost_at < grace;
}

size_t DeviceRegistry::mark(const std::string& name, Mark mark) {
  size_t marked = 0;
  for (auto& [key, device] : devices_) {
    if (key != name && device.agent != name) continue;
    device.mark = mark;
    device.mark_is_ours = false;
    device.why = mark == Mark::kQuarantined ? "by hand" : "";
    device.strikes = device.failures = device.others_ok = 0;
    ++marked;
  }
  return marked;
}

std::string DeviceRegistry::state(const Device& device) const {
  if (!agents_.at(device.agent).connection) return "lost";
  if (device.mark == Mark::kDraining) return "draining";
  if (device.mark == Mark::kQuarantined) return "quarantined";
  return device.leased > 0 ? "busy" : "idle";
}

bool matches(const wire::SessionOpen& session, const Device& device) {
  if (!session.target_kind.empty() && wire::target_kind(device.info.target) != session.target_kind) return false;
  if (!session.target.empty() && device.info.target != session.target) return false;
  const std::string& key = session.device_key;
  if (key.empty() || key == device.info.key || key == device.agent) return true;
  const size_t equals = key.find('=');
  if (equals == std::string::npos) return false;
  const auto label = device.info.labels.find(key.substr(0, equals));
  return label != device.info.labels.end() && label->second == key.substr(equals + 1);
}

}  // namespace hone::tracker
