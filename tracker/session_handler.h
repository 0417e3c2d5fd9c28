// Handles each message of a session.
#pragma once

#include <optional>
#include <string>

#include "rpc/gate/tenant.h"
#include "tracker/dispatch/lease_reports.h"
#include "tracker/dispatch/module_transfer.h"

namespace hone::tracker {

/// Not thread-safe, and without a state of its own. A function that returns Refused has not done what was asked, or
/// only the first part of it, and leaves it to the caller to end the connection.
class SessionHandler {
 public:
  using Refusal = std::optional<wire::Refused>;

  /// The arguments outlive it.
  SessionHandler(const TrackerOptions& options, const Clock& clock, JobBook& book, Fleet& fleet, JobQueue& queue,
                 Dispatch& dispatch, JobLifecycle& lifecycle, LeaseReports& reports, ModuleTransfer& transfer,
                 Outgoing& out)
      : options_(options),
        clock_(clock),
        book_(book),
        fleet_(fleet),
        queue_(queue),
        dispatch_(dispatch),
        lifecycle_(lifecycle),
        reports_(reports),
        transfer_(transfer),
        out_(out) {}

  /// The first message of a connection.
  Refusal open(ConnectionId connection, wire::SessionOpen& open, const gate::Tenant& tenant);
  /// All others.
  Refusal on(Session& session, wire::Submit& submit);
  Refusal on(Session& session, wire::Blobs& blobs);
  Refusal on(Session& session, const wire::SessionAck& ack);
  Refusal on(Session& session, const wire::CancelJobs& cancel);
  Refusal on(Session& session, wire::Summary& summary);
  Refusal on(Session& session, const wire::SessionClose& close);
  /// The connection is over: its session keeps its jobs for the grace. If the connection is no session's, nothing
  /// happens. Collected messages are sent.
  void gone(ConnectionId connection);
  /// Sessions whose grace is over end.
  void expire();
  /// An administrator ends the session of that id or uuid; a line for people.
  StatusOr<std::string> cancel(const std::string& id);

 private:
  void end(Session& session);

  const TrackerOptions& options_;
  const Clock& clock_;
  JobBook& book_;
  Fleet& fleet_;
  JobQueue& queue_;
  Dispatch& dispatch_;
  JobLifecycle& lifecycle_;
  LeaseReports& reports_;
  ModuleTransfer& transfer_;
  Outgoing& out_;
};

}  // namespace hone::tracker
