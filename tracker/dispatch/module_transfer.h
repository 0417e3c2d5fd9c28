// Modules from the sessions whose jobs name them to the agents that ask, and the consequences for jobs and leases when
// they come or are missing.
#pragma once

#include "tracker/dispatch/job_lifecycle.h"
#include "tracker/jobs/modules.h"

namespace hone::tracker {

/// Not thread-safe, and without a state of its own: Modules holds the requests and the waiting.
class ModuleTransfer {
 public:
  /// The arguments outlive it.
  ModuleTransfer(JobBook& book, Fleet& fleet, Modules& modules, Dispatch& dispatch, JobLifecycle& lifecycle,
                 Outgoing& out)
      : book_(book), fleet_(fleet), modules_(modules), dispatch_(dispatch), lifecycle_(lifecycle), out_(out) {}

  /// The session has connected: it is asked for all that it was asked for before.
  void connected(Session& session) { modules_.ask_again(session); }
  /// The connection is over: its agent waits for no module.
  void agent_gone(ConnectionId connection) { modules_.agent_gone(connection); }
  /// The session sends modules, or says that it does not have them. Those it was not asked for are dropped.
  void received(Session& session, wire::Blobs& blobs);
  /// The agent asks for modules of the jobs it has leases of.
  void requested(ConnectionId connection, const Agent& agent, const wire::BlobRequest& request);
  /// The session has gone or does not answer: agents do not wait for it any more.
  void no_answer_from(Session& session);
  /// Agents that have waited long enough do not wait any more.
  void expire();

 private:
  void came(Session& session, const Hash128& hash);
  void is_lacking(Session& session, const Hash128& hash);
  void give_up(const Hash128& hash);
  void withdraw_leases(const Agent& agent, const Hash128& hash, const PendingModule& pending);

  JobBook& book_;
  Fleet& fleet_;
  Modules& modules_;
  Dispatch& dispatch_;
  JobLifecycle& lifecycle_;
  Outgoing& out_;
};

}  // namespace hone::tracker
