// Modules by their hash: from the sessions whose jobs name them to the agents that ask. A job is leased when its
// modules are here, so that no device waits for a session. Each session is asked for the modules of its own jobs: what
// it answers, or does not, is its own affair.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kBlobBytesPerMessage = 8 << 20;
constexpr size_t kHashesPerMessage = 1024;

// Each once.
template <class Record>
std::vector<Hash128> modules_of(const Record& record) {
  std::vector<Hash128> out = record.job.modules;
  if (record.reference && !record.job.fake) out.push_back(record.reference->reference.module_hash);
  if (out.size() > 1) {
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  return out;
}

}  // namespace

// --- before a lease
// ----------------------------------------------------------------------------------------------------------

bool Tracker::modules_are_here(const JobRecord& record) const {
  if (record.reference && !blobs_.contains(record.reference->reference.module_hash)) return false;
  return std::all_of(record.job.modules.begin(), record.job.modules.end(),
                     [&](const Hash128& hash) { return blobs_.contains(hash); });
}

// What was here and had to make room is asked for again when an agent wants it, but only of sessions that answer.
bool Tracker::may_be_leased(const Session& session, const JobRecord& record) const {
  if (record.job.fake) return true;
  return (record.was_ready && session.connection && !session.silent) || modules_are_here(record);
}

void Tracker::wait_for_modules(Session& session, JobRecord& record) {
  record.state = JobState::kWaiting;
  ++session.waiting;
  for (const Hash128& hash : modules_of(record)) {
    if (blobs_.contains(hash)) continue;
    ask(session, hash);
    session.awaited.at(hash).push_back(record.job.seq);
    ++record.awaits;
  }
}

// The job is not to wait any more, whatever becomes of it.
void Tracker::stop_waiting(Session& session, JobRecord& record) {
  --session.waiting;
  for (const Hash128& hash : modules_of(record)) {
    const auto awaited = session.awaited.find(hash);
    if (awaited == session.awaited.end()) continue;
    std::erase(awaited->second, record.job.seq);
    const auto pending = pending_blobs_.find(hash);
    const bool for_agents = pending != pending_blobs_.end() && pending->second.asked.contains(session.spec.session);
    if (awaited->second.empty() && !for_agents) session.awaited.erase(awaited);
  }
  record.awaits = 0;
}

// Unless it is asked already.
void Tracker::ask(Session& session, const Hash128& hash) {
  if (session.awaited.try_emplace(hash).second && session.connection) asked_[session.spec.session].push_back(hash);
}

// It has connected again.
void Tracker::ask_again(Session& session) {
  std::vector<Hash128>& hashes = asked_[session.spec.session];
  hashes.clear();
  for (const auto& [hash, seqs] : session.awaited) hashes.push_back(hash);
  std::sort(hashes.begin(), hashes.end());
}

void Tracker::send_asked() {
  for (const auto& [uuid, hashes] : std::exchange(asked_, {})) {
    const auto session = sessions_.find(uuid);
    if (session == sessions_.end() || !session->second.connection) continue;
    for (size_t at = 0; at < hashes.size(); at += kHashesPerMessage) {
      const auto first = hashes.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last = hashes.begin() + static_cast<std::ptrdiff_t>(std::min(hashes.size(), at + kHashesPerMessage));
      outbox_.to_session(*session->second.connection, wire::BlobRequest{{first, last}});
    }
  }
}

// --- what sessions answer
// ----------------------------------------------------------------------------------------------------

void Tracker::on(ConnectionId, Session* session, wire::Blobs& blobs) {
  std::map<ConnectionId, wire::Blobs> replies;
  for (wire::Blob& blob : blobs.blobs) {
    if (!session->awaited.contains(blob.hash)) continue;  // it was not asked
    session->silent = false;
    if (const auto pending = pending_blobs_.find(blob.hash); pending != pending_blobs_.end()) {
      for (const ConnectionId waiter : pending->second.waiters) replies[waiter].blobs.push_back(blob);
      pending_blobs_.erase(pending);
    }
    blobs_.put(blob.hash, std::make_shared<const std::string>(std::move(blob.data)), session->tenant);
    module_came(*session, blob.hash);
  }
  for (auto& [waiter, reply] : replies) outbox_.to_agent(waiter, std::move(reply));
  for (const Hash128& hash : blobs.missing)
    if (session->awaited.contains(hash)) module_lacks(*session, hash);
}

void Tracker::module_came(Session& session, const Hash128& hash) {
  const auto awaited = session.awaited.find(hash);
  const std::vector<uint64_t> seqs = std::move(awaited->second);
  session.awaited.erase(awaited);
  for (const uint64_t seq : seqs) {
    JobRecord& record = session.jobs.at(seq);
    if (--record.awaits > 0) continue;
    record.was_ready = true;
    stop_waiting(session, record);
    record.state = JobState::kQueued;
    enqueue(session, {session.spec.session, seq},
            record.tried.empty() ? FairQueue::Place::kBack : FairQueue::Place::kRetry);
  }
}

// Its jobs that wait for the module cannot be built. Those that are leased fail with their agents, unless another
// session sends it.
void Tracker::module_lacks(Session& session, const Hash128& hash) {
  const auto awaited = session.awaited.find(hash);
  const std::vector<uint64_t> seqs = std::move(awaited->second);
  session.awaited.erase(awaited);
  for (const uint64_t seq : seqs) {
    JobRecord& record = session.jobs.at(seq);
    stop_waiting(session, record);
    finish_without_device(session, record, wire::ResultStatus::kBuildFailed,
                          fmt::format("module {} is neither with the tracker nor with the session", hash.hex()));
  }
  const auto pending = pending_blobs_.find(hash);
  if (pending == pending_blobs_.end()) return;
  pending->second.asked.erase(session.spec.session);
  pending->second.lacking.insert(session.spec.session);
  if (pending->second.asked.empty()) give_up(hash);
}

// --- what agents ask
// ---------------------------------------------------------------------------------------------------------

void Tracker::on(ConnectionId connection, Agent* agent, wire::BlobRequest& request) {
  wire::Blobs reply;
  size_t bytes = 0;
  std::optional<std::unordered_map<Hash128, std::set<wire::Uuid>>> named;  // by the jobs the agent has leases of
  std::unordered_set<Hash128> lost;
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
    if (!named) {
      named.emplace();
      for (const HeldLease* lease : leases_.of_agent(agent->name))
        for (const Hash128& module : modules_of(*job_of(key_of(lease->id)))) (*named)[module].insert(lease->id.session);
    }
    const auto sessions = named->find(hash);
    if (sessions == named->end()) {
      reply.missing.push_back(hash);
      continue;
    }
    const auto [entry, is_new] = pending_blobs_.try_emplace(hash);
    PendingBlob& pending = entry->second;
    if (is_new) pending.deadline = clock_.now() + options_.blob_timeout;
    pending.waiters.insert(connection);
    for (const wire::Uuid& uuid : sessions->second) {
      Session& session = sessions_.at(uuid);
      if (!session.connection || session.silent || pending.lacking.contains(uuid)) continue;
      pending.asked.insert(uuid);
      ask(session, hash);
    }
    if (pending.asked.empty()) lost.insert(hash);
  }
  if (!reply.blobs.empty() || !reply.missing.empty()) outbox_.to_agent(connection, std::move(reply));
  for (const Hash128& hash : lost) give_up(hash);
}

// --- no answer
// -----------------------------------------------------------------------------------------------------

// Agents do not wait for it any more.
void Tracker::no_answer_from(Session& session) {
  std::vector<Hash128> hopeless;
  for (const auto& [hash, seqs] : session.awaited) {
    const auto pending = pending_blobs_.find(hash);
    if (pending != pending_blobs_.end() && pending->second.asked.erase(session.spec.session) > 0 &&
        pending->second.asked.empty())
      hopeless.push_back(hash);
  }
  std::sort(hopeless.begin(), hopeless.end());
  for (const Hash128& hash : hopeless) give_up(hash);
  std::erase_if(session.awaited,
                [&](const auto& one) { return one.second.empty() && !pending_blobs_.contains(one.first); });
}

// No session is left that may send it. The leases of those that said so fail; the others come back and wait for their
// sessions.
void Tracker::give_up(const Hash128& hash) {
  const auto it = pending_blobs_.find(hash);
  const PendingBlob pending = std::move(it->second);
  pending_blobs_.erase(it);
  for (const ConnectionId waiter : pending.waiters) {
    if (const Agent* agent = registry_.by_connection(waiter)) withdraw_leases(*agent, hash, pending);
    missing_[waiter].push_back(hash);
  }
}

void Tracker::withdraw_leases(const Agent& agent, const Hash128& hash, const PendingBlob& pending) {
  std::vector<HeldLease> ended;
  for (const HeldLease* lease : leases_.of_agent(agent.name)) {
    if (pending.lacking.contains(lease->id.session)) continue;
    const std::vector<Hash128> modules = modules_of(*job_of(key_of(lease->id)));
    if (std::binary_search(modules.begin(), modules.end(), hash)) ended.push_back(*lease);
  }
  for (const HeldLease& lease : ended) {
    cancels_[agent.name].push_back(lease.id);
    release(key_of(lease.id), 0, false);
    --job_of(key_of(lease.id))->attempts;
    requeue(lease);
  }
}

void Tracker::expire_blobs() {
  std::vector<Hash128> late;
  for (const auto& [hash, pending] : pending_blobs_)
    if (pending.deadline <= clock_.now() || pending.waiters.empty()) late.push_back(hash);
  std::sort(late.begin(), late.end());
  for (const Hash128& hash : late) {
    const auto pending = pending_blobs_.find(hash);
    if (pending == pending_blobs_.end()) continue;  // given up with another one
    if (pending->second.waiters.empty()) {
      pending_blobs_.erase(pending);
      continue;
    }
    for (const wire::Uuid& uuid : std::set<wire::Uuid>(pending->second.asked)) {
      const auto session = sessions_.find(uuid);
      if (session == sessions_.end()) continue;
      session->second.silent = true;
      no_answer_from(session->second);
    }
    if (pending_blobs_.contains(hash)) give_up(hash);
  }
}

}  // namespace hone::tracker
