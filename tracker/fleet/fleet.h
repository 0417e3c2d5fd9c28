// The agents and their devices: who is there, who serves whom, the work of each device and what sessions see of it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/wire/messages/stream_messages.h"
#include "tracker/fleet/device_registry.h"
#include "tracker/fleet/matching.h"
#include "tracker/fleet/quarantine.h"
#include "tracker/fleet/shown_devices.h"
#include "tracker/state/counts.h"
#include "tracker/state/kept_quarantine.h"
#include "tracker/state/options.h"

namespace hone::tracker {

/// Not thread-safe. Knows neither queue nor leases: its callers draw the consequences of a change for these. Devices
/// and agents stay where they are in memory until they are forgotten.
class Fleet {
 public:
  /// The arguments outlive the fleet.
  Fleet(const TrackerOptions& options, const Clock& clock, TrackerCounts& counts);
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // --- reading
  const DeviceRegistry& registry() const { return registry_; }
  const std::map<std::string, std::unique_ptr<Demand>>& demands() const { return matching_.demands(); }
  /// Null when there is none of that name, or the connection is no agent's.
  Device* device(const std::string& key) { return registry_.device(key); }
  Agent* agent(const std::string& name) { return registry_.agent(name); }
  Agent* by_connection(ConnectionId connection) { return registry_.by_connection(connection); }
  /// Devices with leases, by key.
  const std::map<std::string, Device*>& busy() const { return busy_; }
  /// Seconds since the fleet was made, at `then`.
  double since_start(Clock::TimePoint then) const;

  // --- agents
  /// Why there is no room for the agent, if there is none.
  std::optional<wire::Refused> objection(const wire::AgentHello& hello) const;
  /// The agent has (re)connected with these devices, which DeviceRegistry::check() has passed. `charge`: their share of
  /// the memory budget. True: it was known, as another process. Labels of keys that this process has not proved are
  /// left off; where there are such, the agent has a challenge then. Devices that people quarantined are so again,
  /// whatever the agent says; new ones that it calls drained are.
  bool connect(wire::AgentHello hello, ConnectionId connection, MemoryBudget::Charge charge);
  /// The device's key is proved: it carries its label. The caller update()s it.
  void key_proved(Device& device);
  /// The agent's connection is over. The caller update()s its devices.
  void disconnect(Agent& agent);
  /// Agents that are lost are no longer shown to sessions after their grace, and forgotten after `forget_lost`.
  void forget_lost();
  /// People drain, quarantine or resume (`action`) a device, or all of an agent. Returns them, to be update()d: none
  /// when a quarantine of some who are not here has ended. NotFound: there is none of that name. Usage error, and
  /// nothing has changed: the quarantine could not be kept.
  StatusOr<std::vector<Device*>> mark_by_hand(const std::string& name, Mark mark, std::string_view action);
  /// The agent's devices that people drained, by key.
  std::vector<std::string> drained(const Agent& agent) const;

  // --- which device serves whom
  /// The demand of a session, to be closed once.
  Demand& open_demand(const wire::SessionOpen& spec);
  void close_demand(Demand& demand);
  /// The device's credits, leases, mark or connection have changed. Returns its pool if by that the last device of the
  /// pool went that could have leases; else null.
  [[nodiscard]] const Pool* update(Device& device);
  /// Informs sessions whose devices have changed: with `all` every one, else sessions with few devices.
  void tell_sessions(const JobBook& book, Outgoing& out, bool all) { shown_.tell(registry_, book, out, all); }
  /// The devices that are listed to the demand's sessions.
  std::vector<wire::DeviceInfo> shown(const Demand& demand) const { return ShownDevices::listed(demand, registry_); }

  // --- what a device does
  /// The device got a lease that it asked for.
  void served(Device& device);
  /// The device has one lease more or less: granted, adopted; released.
  void lease_added(Device& device);
  void lease_removed(Device& device);
  /// The device took `seconds` for the job.
  void note_answer(Device& device, const wire::JobResult& result, double seconds);
  void take_readings(Device& device, wire::DeviceHealth readings);
  /// The time that devices were busy with leases until now goes into their histories.
  void count_busy();
  /// For people: what happened to the device.
  void note(Device& device, std::string event);
  Quarantine& quarantine() { return quarantine_; }

 private:
  void count_busy(Device& device);
  void put_in(Device& device);
  void take_out(Device& device);
  void mark_again(Device& device, Mark mark);
  std::string unknown_name(const std::string& name) const;

  const TrackerOptions& options_;
  const Clock& clock_;
  const Clock::TimePoint started_;
  DeviceRegistry registry_;
  Matching matching_;
  ShownDevices shown_;
  Quarantine quarantine_;
  KeptQuarantine kept_;
  std::map<std::string, Device*> busy_;
};

}  // namespace hone::tracker
