// Messages of the tracker: some of it at once, the rest collected while one message is handled and sent at its end, one
// message each instead of one a job.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rpc/wire/messages/stream_messages.h"
#include "tracker/state/connection_id.h"

namespace hone::tracker {

/// Where messages go. After a Refused the connection is over: nothing more is sent to it, and its further messages are
/// ignored.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void to_agent(ConnectionId connection, wire::ToAgent message) = 0;
  virtual void to_session(ConnectionId connection, wire::ToSession message) = 0;
};

/// Which connection an agent or a session has now; nothing where it has none.
struct Connections {
  std::function<std::optional<ConnectionId>(const std::string& agent)> of_agent;
  std::function<std::optional<ConnectionId>(const wire::Uuid& session)> of_session;
};

/// Not thread-safe. Messages for agents and sessions without a connection at its end are dropped: they learn the state
/// when they connect again.
class Outgoing {
 public:
  /// `outbox` outlives it.
  Outgoing(Outbox& outbox, Connections connections) : outbox_(outbox), connections_(std::move(connections)) {}

  // --- at once
  void to_agent(ConnectionId connection, wire::ToAgent message) { outbox_.to_agent(connection, std::move(message)); }
  void to_session(ConnectionId connection, wire::ToSession message) {
    outbox_.to_session(connection, std::move(message));
  }

  // --- at the end, in this order
  /// The session is asked for a module.
  void ask(const wire::Uuid& session, const Hash128& module) { asked_[session].push_back(module); }
  /// The session, which has connected again, is asked for these modules and no others.
  void ask_for_all(const wire::Uuid& session, std::vector<Hash128> modules) { asked_[session] = std::move(modules); }
  void result(const wire::Uuid& session, wire::JobResult result) { results_[session].push_back(std::move(result)); }
  /// The agent shall not work on the lease any more.
  void cancel(const std::string& agent, const wire::LeaseId& lease) { cancels_[agent].push_back(lease); }
  /// The agent behind the connection waits in vain for a module.
  void missing(ConnectionId agent, const Hash128& module) { missing_[agent].push_back(module); }
  /// The agent may forget the lease's result.
  void ack(const std::string& agent, const wire::LeaseId& lease) { acks_[agent].push_back(lease); }

  /// The session has ended: its results are not sent.
  void forget_results(const wire::Uuid& session) { results_.erase(session); }
  /// Sends the collected messages.
  void flush();

 private:
  void send_asked();
  void send_results();

  Outbox& outbox_;
  const Connections connections_;
  std::map<std::string, std::vector<wire::LeaseId>> acks_, cancels_;  // by agent
  std::map<wire::Uuid, std::vector<wire::JobResult>> results_;
  std::map<wire::Uuid, std::vector<Hash128>> asked_;
  std::map<ConnectionId, std::vector<Hash128>> missing_;
};

}  // namespace hone::tracker
