// The agents and devices that the tracker knows, and their states.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/wire/messages/messages.h"
#include "tracker/fleet/key_claim.h"
#include "tracker/fleet/matching.h"
#include "tracker/state/connection_id.h"
#include "tracker/state/health.h"
#include "tracker/state/history.h"
#include "tracker/state/memory_budget.h"

namespace hone::tracker {

/// Why a connected device gets no leases, or few.
enum class Mark {
  kNone,
  kDraining,     ///< by hand
  kQuarantined,  ///< by hand, or by the tracker
  kProbation,    ///< was quarantined by the tracker, and is tried with one lease at a time
};

struct Agent;

struct Device {
  wire::DeviceInfo info;  ///< without the label of a key that is not proved
  KeyClaim claim;
  std::string agent;
  Clock::TimePoint known_since{};
  const Agent* owner = nullptr;  ///< the agent of that name
  Mark mark = Mark::kNone;
  bool mark_is_ours = false;  ///< quarantined by the tracker: it may come back by itself
  bool for_strikes = false;   ///< quarantined because it lost leases
  std::string why;            ///< it is quarantined
  uint32_t credits = 0;       ///< leases it wants now
  uint32_t leased = 0;
  uint64_t done = 0, failed = 0;
  Health health;
  wire::DeviceHealth readings;           ///< the latest of its agent
  std::array<uint64_t, 11> by_status{};  ///< jobs by their first candidate's ResultStatus
  wire::PhaseTimes phases;               ///< seconds of all its jobs
  DeviceHistory history;
  LastMinute last_minute;
  EventRing events;
  Clock::TimePoint busy_counted{};  ///< until when its busy time is in the history, while it has leases
  double mean_seconds = 0;          ///< of a job
  double slowness = 1;              ///< how long jobs take, relative to other devices
  Clock::TimePoint progress{};      ///< last answer, or first lease after idleness
  PlaceOfDevice place;

  bool wants_lease() const { return credits > 0 && (mark != Mark::kProbation || leased == 0); }
};

struct Agent {
  std::string name;
  wire::Uuid instance;
  std::optional<ConnectionId> connection;
  std::string challenge;  ///< by which keys of its devices are to be proved on this connection; empty: none are
  Clock::TimePoint connected_at{}, lost_at{}, heard_at{};
  MemoryBudget::Charge charge;  ///< for itself and its devices
  bool absent = false;          ///< lost for longer than the grace: sessions were told
  std::set<std::string> devices;
};

/// Not thread-safe. Devices and agents stay where they are in memory until they are forgotten.
class DeviceRegistry {
 public:
  explicit DeviceRegistry(const Clock& clock) : clock_(clock) {}

  /// InvalidArgument when connect() would not take it: a device is not named after its agent, or named twice.
  static Status check(const std::string& name, const std::vector<wire::DeviceInfo>& devices);
  /// An agent (re)appears with `devices`, which passed check(). Facts known of these survive; devices that it had and
  /// does not name are forgotten.
  Agent& connect(const std::string& name, const wire::Uuid& instance, ConnectionId connection,
                 const std::vector<wire::DeviceInfo>& devices);
  /// Null when the connection is no agent's.
  Agent* by_connection(ConnectionId connection);
  /// Null when there is none of that name.
  Agent* agent(const std::string& name);
  Device* device(const std::string& key);
  /// The connection is over; the agent is lost from now on.
  void disconnect(Agent& agent);
  /// Agents lost before `then`, the longest lost first.
  std::vector<Agent*> lost_before(Clock::TimePoint then);
  /// With its devices. The agent is not connected.
  void forget(Agent& agent);

  /// The device's agent is connected and nothing keeps it from getting leases.
  static bool usable(const Device& device) {
    return (device.mark == Mark::kNone || device.mark == Mark::kProbation) && device.owner->connection.has_value();
  }
  /// Sets the mark of a device, or of all of an agent's, and returns them; none when there is no such name.
  std::vector<Device*> mark(const std::string& name, Mark mark);
  static std::string state(const Device& device);  ///< idle, busy, draining, quarantined, probation, lost

  std::map<std::string, Device>& devices() { return devices_; }
  const std::map<std::string, Device>& devices() const { return devices_; }
  const std::map<std::string, Agent>& agents() const { return agents_; }

 private:
  void forget_device(const std::string& key);

  const Clock& clock_;
  std::map<std::string, Agent> agents_;
  std::map<std::string, Device> devices_;
  std::unordered_map<std::string_view, Device*> by_key_;  // the views are of the map's keys
  std::unordered_map<ConnectionId, Agent*> by_connection_;
  std::set<std::pair<Clock::TimePoint, std::string>> lost_;
};

}  // namespace hone::tracker
