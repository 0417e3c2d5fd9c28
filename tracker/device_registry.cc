#include "tracker/device_registry.h"

#include <fmt/format.h>

namespace hone::tracker {

Status DeviceRegistry::check(const std::string& name, const std::vector<wire::DeviceInfo>& infos) {
  std::set<std::string> keys;
  for (const wire::DeviceInfo& info : infos) {
    if (info.key.rfind(name + "/", 0) != 0)
      return absl::InvalidArgumentError(fmt::format("device '{}' of agent '{}' must be called {}/…", info.key, name, name));
    if (!keys.insert(info.key).second) return absl::InvalidArgumentError(fmt::format("agent '{}' names device '{}' twice", name, info.key));
  }
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
    if (!keys.contains(old)) devices_.erase(old);
  agent.name = name;
  agent.instance = instance;
  agent.connection = connection;
  agent.connected_at = agent.heard_at = clock_.now();
  agent.absent = false;
  agent.devices = std::move(keys);
  by_connection_[connection] = name;
  for (const wire::DeviceInfo& info : infos) {
    const auto [it, is_new] = devices_.try_emplace(info.key);
    Device& device = it->second;
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
  lost_.insert({agent.lost_at, agent.name});
  for (const std::string& key : agent.devices) devices_.at(key).credits = 0;
}

std::vector<Agent*> DeviceRegistry::lost_before(Clock::TimePoint then) {
  std::vector<Agent*> out;
  for (auto it = lost_.begin(); it != lost_.end() && it->first <= then; ++it) out.push_back(&agents_.at(it->second));
  return out;
}

void DeviceRegistry::forget(Agent& agent) {
  for (const std::string& key : agent.devices) devices_.erase(key);
  lost_.erase({agent.lost_at, agent.name});
  agents_.erase(std::string(agent.name));
}

std::vector<Device*> DeviceRegistry::mark(const std::string& name, Mark mark) {
  std::vector<Device*> marked;
  if (Device* one = device(name)) marked = {one};
  else if (const Agent* all = agent(name))
    for (const std::string& key : all->devices) marked.push_back(&devices_.at(key));
  for (Device* device : marked) {
    device->mark = mark;
    device->mark_is_ours = false;
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
