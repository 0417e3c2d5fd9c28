// The agents and devices the tracker knows, what state they are in, and which of them serve a session.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/wire/messages.h"

namespace hone::tracker {

using ConnectionId = uint64_t;

/// Why a device gets no leases although its agent is there.
enum class Mark { kNone, kDraining, kQuarantined };

struct Device {
  wire::DeviceInfo info;
  std::string agent;
  Mark mark = Mark::kNone;
  bool mark_is_ours = false;    ///< quarantined by the tracker: a new agent process starts afresh
  std::string why;              ///< it is quarantined
  uint32_t credits = 0;         ///< leases it wants now
  uint32_t leased = 0;
  uint64_t done = 0, failed = 0;
  uint32_t strikes = 0;         ///< times in a row that its leases were lost
  uint32_t failures = 0;        ///< jobs in a row that failed, of
  wire::Uuid failing_session;   ///< this session, and
  uint32_t others_ok = 0;       ///< how many of its jobs went well elsewhere meanwhile
  double sentinel_seconds = 0;
  double mean_seconds = 0;      ///< of a job
  Clock::TimePoint progress{};  ///< last answer, or first lease after idleness
};

struct Agent {
  std::string name;
  wire::Uuid instance;
  std::optional<ConnectionId> connection;
  Clock::TimePoint connected_at{}, lost_at{}, heard_at{};
  std::set<std::string> devices;
};

/// Not thread-safe.
class DeviceRegistry {
 public:
  explicit DeviceRegistry(const Clock& clock) : clock_(clock) {}

  /// An agent (re)appears with `devices`. Their counters and marks survive a reconnect; another instance starts afresh but for
  /// the marks people set. InvalidArgument when a device is not named after its agent or named twice.
  Status connect(const std::string& name, const wire::Uuid& instance, ConnectionId connection, const std::vector<wire::DeviceInfo>& devices);
  /// Null when the connection is no agent's.
  Agent* by_connection(ConnectionId connection);
  Agent* agent(const std::string& name);
  Device* device(const std::string& key);
  /// The connection is over; the agent is lost from now on.
  void disconnect(Agent& agent);
  /// Forgets agents lost before `then`.
  void forget_lost(Clock::TimePoint then);

  /// The device's agent is connected and nothing keeps it from getting leases.
  bool usable(const Device& device) const;
  /// Usable, or its agent was lost less than `grace` ago.
  bool present(const Device& device, Clock::Duration grace) const;
  /// Sets the mark of a device, or of all of an agent's; the number of devices marked, 0 when there is no such name.
  size_t mark(const std::string& name, Mark mark);
  std::string state(const Device& device) const;  ///< idle, busy, draining, quarantined, lost

  std::map<std::string, Device>& devices() { return devices_; }
  const std::map<std::string, Device>& devices() const { return devices_; }
  const std::map<std::string, Agent>& agents() const { return agents_; }

 private:
  const Clock& clock_;
  std::map<std::string, Agent> agents_;
  std::map<std::string, Device> devices_;
  std::map<ConnectionId, std::string> by_connection_;
};

/// Does the device serve the session: kind, target when the session fixed it, and key (a device, an agent or a label k=v)?
bool matches(const wire::SessionOpen& session, const Device& device);

}  // namespace hone::tracker
