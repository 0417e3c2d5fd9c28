// The sessions and jobs that the tracker knows, and whether it has room for more.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "rpc/gate/tenant.h"
#include "rpc/wire/messages/stream_messages.h"
#include "tracker/jobs/session.h"
#include "tracker/state/options.h"

namespace hone::tracker {

/// How long a device may work on a job at most, in seconds: all deadlines of its profile together.
double budget_seconds(const wire::Job& job);

/// Not thread-safe. Sessions and jobs stay where they are in memory until they are erased.
class JobBook {
 public:
  /// The arguments outlive the book.
  JobBook(const TrackerOptions& options, const Clock& clock, MemoryBudget& memory)
      : options_(options), clock_(clock), memory_(memory) {}

  // --- reading
  const std::map<wire::Uuid, Session>& sessions() const { return sessions_; }
  /// Null when there is none.
  Session* find(const wire::Uuid& uuid);
  const Session* find(const wire::Uuid& uuid) const;
  Session* by_connection(ConnectionId connection);
  JobRecord* job(const JobKey& key);
  /// By the session's id, or by its uuid, which is a secret: who knows it may ask.
  const Session* called(const std::string& id) const;
  /// The session is known.
  Session& at(const wire::Uuid& uuid) { return sessions_.at(uuid); }
  /// Sessions without a connection for longer than the grace.
  std::vector<wire::Uuid> abandoned() const;

  // --- sessions
  /// The share of its tenant's memory that an admitted session takes; no charge for a session that is known.
  struct Admitted {
    std::shared_ptr<MemoryBudget::Account> account;
    MemoryBudget::Charge charge;
  };
  /// Whether `tenant` may open the session, and why not.
  std::variant<Admitted, wire::Refused> admit(const wire::SessionOpen& open, const gate::Tenant& tenant);
  /// The session is open on `connection`, with the spec `open`. Its earlier connection is over.
  Session& open(const wire::SessionOpen& open, ConnectionId connection, const gate::Tenant& tenant, Admitted admitted);
  /// The session stays, without a connection.
  void disconnect(Session& session);
  void erase(const wire::Uuid& uuid);
  /// An administrator ended the session: it is refused for `forget_lost`.
  void bar(const wire::Uuid& uuid);
  /// Bars that have lasted long enough end.
  void lift_bars();

  // --- jobs
  /// Takes a job up that the session does not have yet, queued nowhere; or says why not.
  std::variant<JobRecord*, wire::Refused> add(Session& session, wire::Job job);

 private:
  bool share_reference(Session& session, JobRecord& record);
  std::optional<wire::Refused> objection(const wire::SessionOpen& open, const gate::Tenant& tenant) const;

  const TrackerOptions& options_;
  const Clock& clock_;
  MemoryBudget& memory_;
  std::map<wire::Uuid, Session> sessions_;
  std::map<std::string, wire::Uuid> ids_;
  std::unordered_map<ConnectionId, wire::Uuid> connections_;
  std::map<wire::Uuid, Clock::TimePoint> barred_;  // since when
};

}  // namespace hone::tracker
