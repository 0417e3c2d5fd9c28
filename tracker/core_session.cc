// What sessions say.
#include <fmt/format.h>

#include "base/log.h"
#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kHashesPerMessage = 1024;

}  // namespace

void Tracker::refuse_session(ConnectionId connection, std::string reason, bool retry) {
  log::warn("refused a session: {}", reason);
  ++counts_.refused;
  session_gone(connection);
  outbox_.to_session(connection, wire::Refused{std::move(reason), retry});
}

void Tracker::on(ConnectionId connection, Session*, wire::SessionOpen& open) {
  if (open.protocol != wire::kProtocolVersion)
    return refuse_session(connection, fmt::format("the session speaks protocol {}, the tracker {}", open.protocol, wire::kProtocolVersion), false);
  const auto known = sessions_.find(open.session);
  if (known == sessions_.end() && sessions_.size() >= options_.max_sessions)
    return refuse_session(connection, fmt::format("the tracker has {} sessions, and takes no more", options_.max_sessions), true);
  if (known != sessions_.end() && known->second.connection) {
    const ConnectionId previous = *known->second.connection;
    session_gone(previous);
    outbox_.to_session(previous, wire::Refused{"the session was opened again elsewhere", false});
  }
  Session& session = sessions_[open.session];
  session.spec = open;
  session.connection = connection;
  session_connections_[connection] = open.session;
  queue_.add_session(open.session, open.weight, open.priority);
  wire::SessionOpened opened;
  opened.window = options_.window;
  opened.devices = devices_for(session.spec);
  session.shown_devices.clear();
  for (const wire::DeviceInfo& device : opened.devices) session.shown_devices.push_back(device.key + " " + device.target);
  for (const auto& [seq, record] : session.jobs) {
    opened.known.push_back(seq);
    if (record.result) results_[open.session].push_back(*record.result);
  }
  log::info("session {} opened: {}, {} known jobs", open.session.text(), open.title, opened.known.size());
  outbox_.to_session(connection, std::move(opened));
  ask_blobs(open.session);
}

void Tracker::on(ConnectionId connection, Session* session, wire::Submit& submit) {
  for (wire::Job& job : submit.jobs) {
    const uint64_t seq = job.seq;
    if (session->jobs.contains(seq)) continue;
    if (session->jobs.size() >= options_.window)
      return refuse_session(connection, fmt::format("more than {} jobs are outstanding", options_.window), false);
    JobRecord& record = session->jobs[seq];
    record.job = std::move(job);
    record.submitted = clock_.now();
    claim(*session, record);
  }
}

// A job is new, or an agent has it from before this tracker started.
void Tracker::claim(Session& session, JobRecord& record) {
  const JobKey key{session.spec.session, record.job.seq};
  auto entry = leases_.claim(key);
  const Device* device = entry ? registry_.device(entry->device) : nullptr;
  if (!device || device->agent != entry->agent) return queue_.push(key);
  adopt(session, record, entry->id, entry->device, entry->agent);
  if (!entry->result) return;
  const Agent& agent = *registry_.agent(entry->agent);
  if (!take_result(agent, entry->id, *entry->result)) acks_[entry->agent].push_back(entry->id);
}

void Tracker::on(ConnectionId, Session*, wire::Blobs& blobs) {
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
    if (pending == pending_blobs_.end()) continue;
    for (const ConnectionId waiter : pending->second.waiters) replies[waiter].missing.push_back(hash);
    pending_blobs_.erase(pending);
  }
  for (auto& [waiter, reply] : replies) outbox_.to_agent(waiter, std::move(reply));
}

void Tracker::ask_blobs(const wire::Uuid& uuid) {
  const auto session = sessions_.find(uuid);
  if (session == sessions_.end() || !session->second.connection) return;  // asked when it opens again
  wire::BlobRequest request;
  for (const auto& [hash, pending] : pending_blobs_) {
    if (pending.session != uuid) continue;
    request.hashes.push_back(hash);
    if (request.hashes.size() == kHashesPerMessage) outbox_.to_session(*session->second.connection, std::exchange(request, {}));
  }
  if (!request.hashes.empty()) outbox_.to_session(*session->second.connection, std::move(request));
}

// The session has no use for the job any more, finished or not; the caller erases it.
void Tracker::drop_job(Session& session, JobRecord& record) {
  const JobKey key{session.spec.session, record.job.seq};
  switch (record.state) {
    case JobState::kQueued: queue_.erase(key); break;
    case JobState::kLeased: {
      const HeldLease lease = *leases_.find(key);
      cancels_[lease.agent].push_back(lease.id);
      release(key, std::chrono::duration<double>(clock_.now() - lease.granted).count(), false);
      break;
    }
    case JobState::kDone:
      if (record.answered) acks_[record.answered_by].push_back(*record.answered);
      break;
  }
}

void Tracker::on(ConnectionId, Session* session, wire::SessionAck& ack) {
  for (const uint64_t seq : ack.seqs) {
    const auto it = session->jobs.find(seq);
    if (it == session->jobs.end()) continue;
    drop_job(*session, it->second);
    session->jobs.erase(it);
  }
}

void Tracker::cancel_job(Session& session, JobRecord& record) {
  if (record.state == JobState::kDone) return;
  drop_job(session, record);
  finish_without_device(session, record, wire::ResultStatus::kCancelled, "cancelled");
}

void Tracker::on(ConnectionId, Session* session, wire::CancelJobs& cancel) {
  if (cancel.seqs.empty())
    for (auto& [seq, record] : session->jobs) cancel_job(*session, record);
  for (const uint64_t seq : cancel.seqs)
    if (const auto it = session->jobs.find(seq); it != session->jobs.end()) cancel_job(*session, it->second);
}

void Tracker::on(ConnectionId, Session* session, wire::Summary& summary) { session->summary = std::move(summary); }

void Tracker::on(ConnectionId connection, Session* session, wire::SessionClose& close) {
  log::info("session {} closed: {}", session->spec.session.text(), close.reason);
  session_connections_.erase(connection);
  drop_session(wire::Uuid(session->spec.session));
}

void Tracker::drop_session(const wire::Uuid& uuid) {
  const auto it = sessions_.find(uuid);
  if (it->second.connection) session_connections_.erase(*it->second.connection);
  for (auto& [seq, record] : it->second.jobs) drop_job(it->second, record);
  queue_.remove_session(uuid);
  results_.erase(uuid);
  sessions_.erase(it);
}

}  // namespace hone::tracker
