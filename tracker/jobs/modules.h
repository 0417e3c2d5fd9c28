// Modules by their hash: which are here, which jobs wait for which, and which agents. A job is leased when its modules
// are here, so that no device waits for a session. Each session is asked for the modules of its own jobs: a missing
// answer harms only itself.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tracker/jobs/blob_store.h"
#include "tracker/jobs/job_book.h"
#include "tracker/jobs/session.h"
#include "tracker/state/outgoing.h"

namespace hone::tracker {

/// The modules that a job needs, its reference's included: each once, in order.
std::vector<Hash128> modules_of(const JobRecord& record);

/// A module that agents wait for.
struct PendingModule {
  std::set<ConnectionId> waiters;
  std::set<wire::Uuid> asked;    ///< sessions that may send it
  std::set<wire::Uuid> lacking;  ///< sessions that were asked and do not have it
  Clock::TimePoint deadline{};
};

/// Not thread-safe. Knows neither queue nor leases: ModuleTransfer acts for jobs and agents.
class Modules {
 public:
  /// Keeps modules of `bytes` at most. The other arguments outlive it.
  Modules(size_t bytes, const TrackerOptions& options, const Clock& clock, JobBook& book, Outgoing& out)
      : options_(options), clock_(clock), book_(book), out_(out), store_(bytes) {}

  const BlobStore& store() const { return store_; }

  // --- jobs
  /// True when the job's modules are here, or have been and can be had again: one that had to make room is asked for
  /// when an agent wants it, but only from sessions that answer.
  bool may_be_leased(const Session& session, const JobRecord& record) const;
  /// The job is kWaiting, and its session asked for the modules that are not here.
  void wait_for(Session& session, JobRecord& record);
  /// The job does not wait any more, whatever becomes of it.
  void stop_waiting(Session& session, JobRecord& record);
  /// One of the modules that the job waits for has come. True when it was the last: the job does not wait any more.
  bool one_came(Session& session, JobRecord& record);

  // --- sessions
  /// The session has connected again: it is asked for all that it was asked for.
  void ask_again(Session& session);
  /// Keeps a module that the session sent.
  void keep(const Session& session, const Hash128& hash, std::string data);
  /// The session has answered for this module. Returns its jobs that wait for it; the session is not asked any more.
  std::vector<uint64_t> take_waiting(Session& session, const Hash128& hash);
  /// The session does not have the module. True when agents wait for it and no other session is asked: give it up.
  [[nodiscard]] bool lacks(const Session& session, const Hash128& hash);
  /// The session will not answer agents. Returns the modules that no other session is asked for: give them up, then
  /// call forget_answers().
  [[nodiscard]] std::vector<Hash128> no_answer_from(Session& session);
  /// The session is not asked any more for modules that neither its jobs nor agents wait for.
  void forget_answers(Session& session);

  // --- agents
  /// Sessions whose leased jobs, with one agent, need a module.
  using Users = std::unordered_map<Hash128, std::set<wire::Uuid>>;
  /// Answers an agent with the modules that are here; `users` are asked for the others, and the agent waits for these.
  /// Returns modules that no session can be asked for: give them up.
  [[nodiscard]] std::unordered_set<Hash128> request(ConnectionId agent, const wire::BlobRequest& request,
                                                    const Users& users);
  /// True when all of them are here.
  bool are_here(const std::vector<Hash128>& hashes) const;
  /// The agents that wait for a module that has come: they do not any more.
  std::set<ConnectionId> take_waiters(const Hash128& hash);
  /// The connection is over: its agent does not wait.
  void agent_gone(ConnectionId agent);
  /// Modules whose agents have waited too long, or have gone, in order.
  std::vector<Hash128> overdue() const;
  /// Null when it is not pending.
  const PendingModule* pending(const Hash128& hash) const;
  /// The module is pending; afterwards it is not.
  PendingModule take_pending(const Hash128& hash);

 private:
  void ask(Session& session, const Hash128& hash);

  const TrackerOptions& options_;
  const Clock& clock_;
  JobBook& book_;
  Outgoing& out_;
  BlobStore store_;
  std::unordered_map<Hash128, PendingModule> pending_;
};

}  // namespace hone::tracker
