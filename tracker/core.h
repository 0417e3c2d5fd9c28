// The tracker itself: messages of agents and sessions in, messages to them out. No gRPC, no threads, no clock of its
// own.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "rpc/gate/tenant.h"
#include "rpc/wire/messages/fleet_status.h"
#include "rpc/wire/messages/stream_messages.h"
#include "tracker/agent_handler.h"
#include "tracker/details.h"
#include "tracker/session_handler.h"
#include "tracker/state/counts.h"
#include "tracker/state/memory_budget.h"
#include "tracker/state/options.h"
#include "tracker/state/outgoing.h"
#include "tracker/status.h"

namespace hone::tracker {

/// Not thread-safe: the service calls it under one lock. Connection ids are the caller's and never used twice.
class Tracker {
 public:
  /// `clock` and `outbox` outlive the tracker.
  Tracker(TrackerOptions options, const Clock& clock, Outbox& outbox);
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  /// Handles a peer's message; the first one makes the peer an agent or a session. A message that does not fit is
  /// answered by Refused. `tenant`: the connection's owner; a session belongs to the tenant that opened it first, and
  /// to no other while it is known. `…_gone`: the connection has ended; one without any message is no error.
  void agent_message(ConnectionId connection, wire::FromAgent message, const gate::Tenant& tenant = {});
  void agent_gone(ConnectionId connection) { agents_.gone(connection); }
  void session_message(ConnectionId connection, wire::FromSession message, const gate::Tenant& tenant = {});
  void session_gone(ConnectionId connection) { sessions_.gone(connection); }
  /// Handles the passing of time: lost leases, ended graces, leases taken back. Called a few times a second.
  void tick();

  /// As far as `viewer` may see it.
  wire::FleetStatus status(const gate::Viewer& viewer = {}) const { return reader().status(viewer); }
  TrackerCounts counts() const;
  /// All about one device or session (its id); nothing when there is none of that name.
  std::optional<DeviceDetail> device_detail(const std::string& key) const { return reader().device_detail(key); }
  std::optional<SessionDetail> session_detail(const std::string& id, const gate::Viewer& viewer = {}) const {
    return reader().session_detail(id, viewer);
  }
  /// `drain`, `resume` or `quarantine` a device or an agent, `cancel` a session (its id or uuid); one line for people.
  StatusOr<std::string> admin(const std::string& action, const std::string& name);
  /// The budget that everything sent to peers and by them is charged to.
  MemoryBudget& memory() { return memory_; }

 private:
  void refuse_agent(ConnectionId connection, wire::Refused refused);
  void refuse_session(ConnectionId connection, wire::Refused refused);
  StatusOr<std::string> mark(const std::string& action, const std::string& name);
  StatusReader reader() const { return {options_, clock_, counts_, book_, fleet_, queue_}; }

  const TrackerOptions options_;
  const Clock& clock_;
  TrackerCounts counts_;
  MemoryBudget memory_;
  // Each knows those above it.
  JobBook book_;
  Fleet fleet_;
  Outgoing out_;
  Modules modules_;
  JobQueue queue_;
  Dispatch dispatch_;
  JobLifecycle lifecycle_;
  LeaseReports reports_;
  ModuleTransfer transfer_;
  AgentHandler agents_;
  SessionHandler sessions_;
};

}  // namespace hone::tracker
