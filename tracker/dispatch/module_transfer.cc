#include "tracker/dispatch/module_transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace hone::tracker {

// --- answers of sessions

void ModuleTransfer::received(Session& session, wire::Blobs& blobs) {
  std::map<ConnectionId, wire::Blobs> replies;
  for (wire::Blob& blob : blobs.blobs) {
    if (!session.awaited.contains(blob.hash)) continue;  // it was not asked
    session.silent = false;
    for (const ConnectionId waiter : modules_.take_waiters(blob.hash)) replies[waiter].blobs.push_back(blob);
    modules_.keep(session, blob.hash, std::move(blob.data));
    came(session, blob.hash);
  }
  for (auto& [waiter, reply] : replies) out_.to_agent(waiter, std::move(reply));
  for (const Hash128& hash : blobs.missing)
    if (session.awaited.contains(hash)) is_lacking(session, hash);
}

void ModuleTransfer::came(Session& session, const Hash128& hash) {
  for (const uint64_t seq : modules_.take_waiting(session, hash)) {
    JobRecord& record = session.jobs.at(seq);
    if (modules_.one_came(session, record)) lifecycle_.enqueue(session, record, FairQueue::Place::kBack);
  }
}

// Its jobs that wait for the module cannot be built. Those that are leased fail with their agents, unless another
// session sends it.
void ModuleTransfer::is_lacking(Session& session, const Hash128& hash) {
  for (const uint64_t seq : modules_.take_waiting(session, hash)) {
    JobRecord& record = session.jobs.at(seq);
    modules_.stop_waiting(session, record);
    lifecycle_.finish_without_device(
        session, record, wire::ResultStatus::kBuildFailed,
        fmt::format("module {} was found neither at the tracker nor at the session", hash.hex()));
  }
  if (modules_.lacks(session, hash)) give_up(hash);
}

// --- requests of agents

void ModuleTransfer::requested(ConnectionId connection, const Agent& agent, const wire::BlobRequest& request) {
  Modules::Users users;
  if (!modules_.are_here(request.hashes))
    for (const HeldLease* lease : dispatch_.leases().of_agent(agent.name))
      for (const Hash128& module : modules_of(*book_.job(key_of(lease->id)))) users[module].insert(lease->id.session);
  for (const Hash128& hash : modules_.request(connection, request, users)) give_up(hash);
}

// --- no answer

void ModuleTransfer::no_answer_from(Session& session) {
  for (const Hash128& hash : modules_.no_answer_from(session)) give_up(hash);
  modules_.forget_answers(session);
}

// No session is left that may send it. Leases of sessions that said so fail; the others come back and wait for their
// sessions.
void ModuleTransfer::give_up(const Hash128& hash) {
  const PendingModule pending = modules_.take_pending(hash);
  for (const ConnectionId waiter : pending.waiters) {
    if (const Agent* agent = fleet_.by_connection(waiter)) withdraw_leases(*agent, hash, pending);
    out_.missing(waiter, hash);
  }
}

void ModuleTransfer::withdraw_leases(const Agent& agent, const Hash128& hash, const PendingModule& pending) {
  std::vector<HeldLease> ended;
  for (const HeldLease* lease : dispatch_.leases().of_agent(agent.name)) {
    if (pending.lacking.contains(lease->id.session)) continue;
    const std::vector<Hash128> modules = modules_of(*book_.job(key_of(lease->id)));
    if (std::binary_search(modules.begin(), modules.end(), hash)) ended.push_back(*lease);
  }
  for (const HeldLease& lease : ended) {
    out_.cancel(agent.name, lease.id);
    lifecycle_.hand_back(lease);
  }
}

void ModuleTransfer::expire() {
  for (const Hash128& hash : modules_.overdue()) {
    const PendingModule* pending = modules_.pending(hash);
    if (!pending) continue;  // given up with another one
    if (pending->waiters.empty()) {
      modules_.take_pending(hash);
      continue;
    }
    for (const wire::Uuid& uuid : std::set<wire::Uuid>(pending->asked)) {
      Session* session = book_.find(uuid);
      if (!session) continue;
      session->silent = true;
      no_answer_from(*session);
    }
    if (modules_.pending(hash)) give_up(hash);
  }
}

}  // namespace hone::tracker
