// Modules by their hash: from the session that has them to the agents that ask.
#include <algorithm>
#include <unordered_map>

#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kBlobBytesPerMessage = 8 << 20;
constexpr size_t kHashesPerMessage = 1024;

}  // namespace

void Tracker::on(ConnectionId connection, Agent* agent, wire::BlobRequest& request) {
  wire::Blobs reply;
  size_t bytes = 0;
  std::map<wire::Uuid, std::vector<Hash128>> ask;
  std::optional<std::unordered_map<Hash128, wire::Uuid>> held;  // by the jobs the agent has leases of
  for (const Hash128& hash : request.hashes) {
    if (const auto data = blobs_.get(hash)) {
      if (bytes > 0 && bytes + data->size() > kBlobBytesPerMessage) {
        outbox_.to_agent(connection, std::exchange(reply, {}));
        bytes = 0;
      }
      bytes += data->size();
      reply.blobs.push_back({hash, *data});
      continue;
    }
    if (const auto pending = pending_blobs_.find(hash); pending != pending_blobs_.end()) {
      pending->second.waiters.insert(connection);
      continue;
    }
    // Only sessions whose job the agent holds are asked: others would not have it.
    if (!held) {
      held.emplace();
      for (const HeldLease* lease : leases_.of_agent(agent->name)) {
        const JobRecord& record = *job_of(key_of(lease->id));
        for (const Hash128& module : record.job.modules) held->emplace(module, lease->id.session);
        if (record.reference) held->emplace(record.reference->module_hash, lease->id.session);
      }
    }
    const auto holder = held->find(hash);
    if (holder == held->end()) {
      reply.missing.push_back(hash);
      continue;
    }
    pending_blobs_[hash] = {{connection}, holder->second, clock_.now() + options_.blob_timeout};
    ask[holder->second].push_back(hash);
  }
  if (!reply.blobs.empty() || !reply.missing.empty()) outbox_.to_agent(connection, std::move(reply));
  for (const auto& [session, hashes] : ask) ask_blobs(session, hashes);
}

void Tracker::on(ConnectionId, Session* session, wire::Blobs& blobs) {
  std::map<ConnectionId, wire::Blobs> replies;
  for (wire::Blob& blob : blobs.blobs) {
    const auto pending = pending_blobs_.find(blob.hash);
    if (pending == pending_blobs_.end()) continue;  // nobody asked
    for (const ConnectionId waiter : pending->second.waiters) replies[waiter].blobs.push_back(blob);
    pending_blobs_.erase(pending);
    blobs_.put(blob.hash, std::make_shared<const std::string>(std::move(blob.data)));
  }
  for (const Hash128& hash : blobs.missing) {
    const auto pending = pending_blobs_.find(hash);
    if (pending == pending_blobs_.end() || pending->second.session != session->spec.session) continue;  // others were not asked
    for (const ConnectionId waiter : pending->second.waiters) replies[waiter].missing.push_back(hash);
    pending_blobs_.erase(pending);
  }
  for (auto& [waiter, reply] : replies) outbox_.to_agent(waiter, std::move(reply));
}

void Tracker::ask_blobs(const wire::Uuid& uuid, const std::vector<Hash128>& hashes) {
  const auto session = sessions_.find(uuid);
  if (session == sessions_.end() || !session->second.connection) return;  // asked when it opens again
  for (size_t at = 0; at < hashes.size(); at += kHashesPerMessage) {
    const auto first = hashes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = hashes.begin() + static_cast<std::ptrdiff_t>(std::min(hashes.size(), at + kHashesPerMessage));
    outbox_.to_session(*session->second.connection, wire::BlobRequest{{first, last}});
  }
}

void Tracker::ask_all_blobs(const wire::Uuid& session) {
  std::vector<Hash128> hashes;
  for (const auto& [hash, pending] : pending_blobs_)
    if (pending.session == session) hashes.push_back(hash);
  ask_blobs(session, hashes);
}

void Tracker::expire_blobs() {
  for (auto it = pending_blobs_.begin(); it != pending_blobs_.end();) {
    if (it->second.deadline > clock_.now() && !it->second.waiters.empty()) {
      ++it;
      continue;
    }
    for (const ConnectionId waiter : it->second.waiters) outbox_.to_agent(waiter, wire::Blobs{{}, {it->first}});
    it = pending_blobs_.erase(it);
  }
}

}  // namespace hone::tracker
