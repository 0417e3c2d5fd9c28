#include "tracker/fleet/device_registry.h"

#include <fmt/format.h>

namespace hone::tracker {
namespace {

constexpr size_t kMaxBytes = 256 << 10;  // of text about all devices of an agent

size_t bytes_of(const wire::DeviceInfo& info) {
  size_t bytes = info.key.size() + info.target.size() + info.model.size() + info.compute_capability.size();
  for (const auto* map : {&info.versions, &info.labels})
    for (const auto& [key, value] : *map) bytes += key.size() + value.size();
  for (const auto* list : {&info.missing, &info.features})
    for (const std::string& word : *list) bytes += word.size();
  return bytes;
}

}  // namespace

Status DeviceRegistry::check(const std::string& name, const std::vector<wire::DeviceInfo>& infos) {
  std::set<std::string> keys;
  size_t bytes = 0;
  for (const wire::DeviceInfo& info : infos) {
    bytes += bytes_of(info);
    if (info.key.rfind(name + "/", 0) != 0)
      return absl::InvalidArgumentError(
          fmt::format("device '{}' of agent '{}' must be called {}/…", info.key, name, name));
    if (!keys.insert(info.key).second)
      return absl::InvalidArgumentError(fmt::format("agent '{}' names device '{}' twice", name, info.key));
  }
  if (bytes > kMaxBytes)
    return absl::InvalidArgumentError(
        fmt::format("agent '{}' describes its devices in {} bytes; at most {} are allowed", name, bytes, kMaxBytes));
  if (name.find('/') != std::string::npos || name.find('=') != std::string::npos)
    return absl::InvalidArgumentError(fmt::format("agent name '{}': '/' and '=' are not allowed", name));
  return absl::OkStatus();
}

Agent& DeviceRegistry::connect(const std::string& name, const wire::Uuid& instance, ConnectionId connection,
                               const std::vector<wire::DeviceInfo>& infos) {
  Agent& agent = agents_[name];
  if (agent.connection) by_connection_.erase(*agent.connection);
  if (!agent.name.empty() && !agent.connection) lost_.erase({agent.lost_at, name});
  std::set<std::string> keys;
  for (const wire::DeviceInfo& info : infos) keys.insert(info.key);
  for (const std::string& old : agent.devices)
    if (!keys.contains(old)) forget_device(old);
  agent.name = name;
  agent.instance = instance;
  agent.connection = connection;
  agent.connected_at = agent.heard_at = clock_.now();
  agent.absent = false;
  agent.devices = std::move(keys);
  by_connection_[connection] = &agent;
  for (const wire::DeviceInfo& info : infos) {
    const auto [it, is_new] = devices_.try_emplace(info.key);
    Device& device = it->second;
    by_key_[it->first] = &device;
    if (is_new) device.known_since = clock_.now();
    device.info = info;
    device.agent = name;
    device.owner = &agent;
    device.credits = 0;
  }
  return agent;
}

Agent* DeviceRegistry::by_connection(ConnectionId connection) {
  const auto it = by_connection_.find(connection);
  return it == by_connection_.end() ? nullptr : it->second;
}

Agent* DeviceRegistry::agent(const std::string& name) {
  const auto it = agents_.find(name);
  return it == agents_.end() ? nullptr : &it->second;
}

Device* DeviceRegistry::device(const std::string& key) {
  const auto it = by_key_.find(key);
  return it == by_key_.end() ? nullptr : it->second;
}

void DeviceRegistry::forget_device(const std::string& key) {
  by_key_.erase(key);
  devices_.erase(key);
}

void DeviceRegistry::disconnect(Agent& agent) {
  if (!agent.connection) return;
  by_connection_.erase(*agent.connection);
  agent.connection.reset();
  agent.lost_at = clock_.now();
  lost_.insert({agent.lost_at, agent.name});
  for (const std::string& key : agent.devices) devices_.at(key).credits = 0;
}

std::vector<Agent*> DeviceRegistry::lost_before(Clock::TimePoint then) {
  std::vector<Agent*> out;
  for (auto it = lost_.begin(); it != lost_.end() && it->first <= then; ++it) out.push_back(&agents_.at(it->second));
  return out;
}

void DeviceRegistry::forget(Agent& agent) {
  for (const std::string& key : agent.devices) forget_device(key);
  lost_.erase({agent.lost_at, agent.name});
  agents_.erase(std::string(agent.name));
}

std::vector<Device*> DeviceRegistry::mark(const std::string& name, Mark mark) {
  std::vector<Device*> marked;
  if (Device* one = device(name))
    marked = {one};
  else if (const Agent* all = agent(name))
    for (const std::string& key : all->devices) marked.push_back(&devices_.at(key));
  for (Device* device : marked) {
    device->mark = mark;
    device->mark_is_ours = device->for_strikes = false;
    device->why = mark == Mark::kQuarantined ? "by hand" : "";
    device->health.forgive();
  }
  return marked;
}

std::string DeviceRegistry::state(const Device& device) {
  if (!device.owner->connection) return "lost";
  switch (device.mark) {
    case Mark::kDraining: return "draining";
    case Mark::kQuarantined: return "quarantined";
    case Mark::kProbation: return "probation";
    case Mark::kNone: break;
  }
  return device.leased > 0 ? "busy" : "idle";
}

}  // namespace hone::tracker
