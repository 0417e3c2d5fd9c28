// Handles each message of an agent.
#pragma once

#include <optional>

#include "rpc/gate/tenant.h"
#include "tracker/dispatch/lease_reports.h"
#include "tracker/dispatch/module_transfer.h"

namespace hone::tracker {

/// Not thread-safe, and without a state of its own. A function that returns Refused has not done what was asked, and
/// leaves it to the caller to end the connection.
class AgentHandler {
 public:
  using Refusal = std::optional<wire::Refused>;

  /// The arguments outlive it.
  AgentHandler(const TrackerOptions& options, const Clock& clock, MemoryBudget& memory, Fleet& fleet, JobQueue& queue,
               Dispatch& dispatch, LeaseReports& reports, ModuleTransfer& transfer, Outgoing& out)
      : options_(options),
        clock_(clock),
        memory_(memory),
        fleet_(fleet),
        queue_(queue),
        dispatch_(dispatch),
        reports_(reports),
        transfer_(transfer),
        out_(out) {}

  /// The first message of a connection.
  Refusal hello(ConnectionId connection, const wire::AgentHello& hello, const gate::Tenant& tenant);
  /// All others.
  Refusal on(ConnectionId connection, const Agent& agent, const wire::Want& want);
  Refusal on(ConnectionId connection, const Agent& agent, wire::Heartbeat& heartbeat);
  Refusal on(ConnectionId connection, const Agent& agent, wire::AgentResults& results);
  Refusal on(ConnectionId connection, const Agent& agent, const wire::BlobRequest& request);
  Refusal on(ConnectionId connection, const Agent& agent, const wire::GiveBack& give_back);
  Refusal on(ConnectionId connection, const Agent& agent, const wire::KeyProof& proof);
  /// The connection is over. None of an agent: nothing happens.
  void gone(ConnectionId connection);

 private:
  Refusal admit(const wire::AgentHello& hello);

  const TrackerOptions& options_;
  const Clock& clock_;
  MemoryBudget& memory_;
  Fleet& fleet_;
  JobQueue& queue_;
  Dispatch& dispatch_;
  LeaseReports& reports_;
  ModuleTransfer& transfer_;
  Outgoing& out_;
};

}  // namespace hone::tracker
