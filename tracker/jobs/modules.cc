#include "tracker/jobs/modules.h"

#include <algorithm>
#include <utility>

namespace hone::tracker {
namespace {

constexpr size_t kBytesPerMessage = 8 << 20;

}  // namespace

std::vector<Hash128> modules_of(const JobRecord& record) {
  std::vector<Hash128> out = record.job.modules;
  if (record.reference && !record.job.fake) out.push_back(record.reference->reference.module_hash);
  if (out.size() > 1) {
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
  }
  return out;
}

// --- jobs

bool Modules::are_here(const std::vector<Hash128>& hashes) const {
  return std::all_of(hashes.begin(), hashes.end(), [&](const Hash128& hash) { return store_.contains(hash); });
}

bool Modules::may_be_leased(const Session& session, const JobRecord& record) const {
  if (record.job.fake) return true;
  if (record.was_ready && session.connection && !session.silent) return true;
  return (!record.reference || store_.contains(record.reference->reference.module_hash)) &&
         are_here(record.job.modules);
}

void Modules::wait_for(Session& session, JobRecord& record) {
  record.state = JobState::kWaiting;
  ++session.waiting;
  for (const Hash128& hash : modules_of(record)) {
    if (store_.contains(hash)) continue;
    ask(session, hash);
    session.awaited.at(hash).push_back(record.job.seq);
    ++record.awaits;
  }
}

void Modules::stop_waiting(Session& session, JobRecord& record) {
  --session.waiting;
  for (const Hash128& hash : modules_of(record)) {
    const auto awaited = session.awaited.find(hash);
    if (awaited == session.awaited.end()) continue;
    std::erase(awaited->second, record.job.seq);
    const PendingModule* for_agents = pending(hash);
    if (awaited->second.empty() && !(for_agents && for_agents->asked.contains(session.spec.session)))
      session.awaited.erase(awaited);
  }
  record.awaits = 0;
}

bool Modules::one_came(Session& session, JobRecord& record) {
  if (--record.awaits > 0) return false;
  record.was_ready = true;
  stop_waiting(session, record);
  return true;
}

// --- sessions

// Unless it is asked already.
void Modules::ask(Session& session, const Hash128& hash) {
  if (session.awaited.try_emplace(hash).second && session.connection) out_.ask(session.spec.session, hash);
}

void Modules::ask_again(Session& session) {
  std::vector<Hash128> hashes;
  for (const auto& [hash, seqs] : session.awaited) hashes.push_back(hash);
  std::sort(hashes.begin(), hashes.end());
  out_.ask_for_all(session.spec.session, std::move(hashes));
}

void Modules::keep(const Session& session, const Hash128& hash, std::string data) {
  store_.put(hash, std::make_shared<const std::string>(std::move(data)), session.tenant);
}

std::vector<uint64_t> Modules::take_waiting(Session& session, const Hash128& hash) {
  const auto awaited = session.awaited.find(hash);
  std::vector<uint64_t> seqs = std::move(awaited->second);
  session.awaited.erase(awaited);
  return seqs;
}

bool Modules::lacks(const Session& session, const Hash128& hash) {
  const auto it = pending_.find(hash);
  if (it == pending_.end()) return false;
  it->second.asked.erase(session.spec.session);
  it->second.lacking.insert(session.spec.session);
  return it->second.asked.empty();
}

std::vector<Hash128> Modules::no_answer_from(Session& session) {
  std::vector<Hash128> hopeless;
  for (const auto& [hash, seqs] : session.awaited) {
    const auto it = pending_.find(hash);
    if (it != pending_.end() && it->second.asked.erase(session.spec.session) > 0 && it->second.asked.empty())
      hopeless.push_back(hash);
  }
  std::sort(hopeless.begin(), hopeless.end());
  return hopeless;
}

void Modules::forget_answers(Session& session) {
  std::erase_if(session.awaited, [&](const auto& one) { return one.second.empty() && !pending_.contains(one.first); });
}

// --- agents

std::unordered_set<Hash128> Modules::request(ConnectionId agent, const wire::BlobRequest& request, const Users& users) {
  wire::Blobs reply;
  size_t bytes = 0;
  std::unordered_set<Hash128> hopeless;
  for (const Hash128& hash : request.hashes) {
    if (const auto data = store_.get(hash)) {
      if (bytes > 0 && bytes + data->size() > kBytesPerMessage) {
        out_.to_agent(agent, std::exchange(reply, {}));
        bytes = 0;
      }
      bytes += data->size();
      reply.blobs.push_back({hash, *data});
      continue;
    }
    const auto sessions = users.find(hash);
    if (sessions == users.end()) {
      reply.missing.push_back(hash);
      continue;
    }
    const auto [entry, is_new] = pending_.try_emplace(hash);
    PendingModule& pending = entry->second;
    if (is_new) pending.deadline = clock_.now() + options_.blob_timeout;
    pending.waiters.insert(agent);
    for (const wire::Uuid& uuid : sessions->second) {
      Session& session = book_.at(uuid);
      if (!session.connection || session.silent || pending.lacking.contains(uuid)) continue;
      pending.asked.insert(uuid);
      ask(session, hash);
    }
    if (pending.asked.empty()) hopeless.insert(hash);
  }
  if (!reply.blobs.empty() || !reply.missing.empty()) out_.to_agent(agent, std::move(reply));
  return hopeless;
}

std::set<ConnectionId> Modules::take_waiters(const Hash128& hash) {
  return pending(hash) ? take_pending(hash).waiters : std::set<ConnectionId>();
}

void Modules::agent_gone(ConnectionId agent) {
  for (auto& [hash, pending] : pending_) pending.waiters.erase(agent);
}

std::vector<Hash128> Modules::overdue() const {
  std::vector<Hash128> late;
  for (const auto& [hash, pending] : pending_)
    if (pending.deadline <= clock_.now() || pending.waiters.empty()) late.push_back(hash);
  std::sort(late.begin(), late.end());
  return late;
}

const PendingModule* Modules::pending(const Hash128& hash) const {
  const auto it = pending_.find(hash);
  return it == pending_.end() ? nullptr : &it->second;
}

PendingModule Modules::take_pending(const Hash128& hash) {
  const auto it = pending_.find(hash);
  PendingModule pending = std::move(it->second);
  pending_.erase(it);
  return pending;
}

}  // namespace hone::tracker
