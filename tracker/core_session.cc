// What sessions say.
#include <fmt/format.h>

#include <algorithm>

#include "base/log_fields.h"
#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kMaxReferences = 16;  // of a session, remembered to be shared: one a task

}  // namespace

void Tracker::refuse_session(ConnectionId connection, std::string reason, bool retry) {
  log::event(log::Level::debug, "refused a session", {{"connection", connection}, {"why", reason}});
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
    // It may try again: what reached us last need not be what it said last, after a network that kept messages back.
    outbox_.to_session(previous, wire::Refused{"the session was opened again elsewhere", true});
  }
  Session& session = sessions_[open.session];
  session.spec = open;
  session.connection = connection;
  session_connections_[connection] = open.session;
  set_demand(session);
  wire::SessionOpened opened;
  opened.window = options_.window;
  opened.devices = shown(*session.demand);
  for (const auto& [seq, record] : session.jobs) {
    opened.known.push_back(seq);
    if (record.result) results_[open.session].push_back(*record.result);
  }
  if (known == sessions_.end()) session.opened = clock_.now();
  session.events.add(clock_.now(), known == sessions_.end() ? "opened" : fmt::format("connected again, with {} jobs", opened.known.size()));
  log::event(log::Level::info, "a session opened",
             {{"session", open.session.text()}, {"title", open.title}, {"jobs", opened.known.size()}, {"devices", opened.devices.size()}});
  outbox_.to_session(connection, std::move(opened));
  ask_all_blobs(open.session);
}

// By what the session asks for now.
void Tracker::set_demand(Session& session) {
  Demand* old = session.demand;
  Demand& demand = matching_.open(session.spec, registry_.devices());
  session.demand = &demand;
  queue_.add_session(session.spec.session, demand.id, session.spec.weight, session.spec.priority);
  if (demand.sessions == 1) show_all(demand);
  if (queue_.size(demand.id) > 0) freshen(demand);
  if (old) close_demand(*old);
}

void Tracker::close_demand(Demand& demand) {
  if (demand.sessions == 1) {
    std::erase(fresh_, &demand);
    std::erase(shown_changed_, &demand);
  }
  matching_.close(demand);
}

void Tracker::on(ConnectionId connection, Session* session, wire::Submit& submit) {
  for (wire::Job& job : submit.jobs) {
    const uint64_t seq = job.seq;
    if (session->jobs.contains(seq)) continue;
    if (session->jobs.size() >= options_.window)
      return refuse_session(connection, fmt::format("more than {} jobs are outstanding", options_.window), false);
    JobRecord& record = session->jobs[seq];
    record.job = std::move(job);
    record.budget_s = budget_seconds(record.job);
    share_reference(*session, record);
    record.submitted = clock_.now();
    claim(*session, record);
  }
}

void Tracker::share_reference(Session& session, JobRecord& record) {
  if (!record.job.reference) return;
  const auto known = std::find_if(session.references.begin(), session.references.end(), [&](const auto& one) { return *one == *record.job.reference; });
  if (known != session.references.end()) {
    record.reference = *known;
  } else {
    record.reference = std::make_shared<const wire::Reference>(std::move(*record.job.reference));
    if (session.references.size() >= kMaxReferences) session.references.erase(session.references.begin());
    session.references.push_back(record.reference);
  }
  record.job.reference.reset();
}

// A job is new, or an agent has it from before this tracker started.
void Tracker::claim(Session& session, JobRecord& record) {
  const JobKey key{session.spec.session, record.job.seq};
  auto entry = leases_.claim(key);
  const Device* device = entry ? registry_.device(entry->device) : nullptr;
  if (!device || !may_adopt(session, entry->id, entry->device, entry->agent)) {
    if (entry) (entry->result ? acks_ : cancels_)[entry->agent].push_back(entry->id);
    return enqueue(session, key, FairQueue::Place::kBack);
  }
  adopt(session, record, entry->id, entry->device, entry->agent);
  if (!entry->result) return;
  const Agent& agent = *registry_.agent(entry->agent);
  if (!take_result(agent, entry->id, *entry->result)) acks_[entry->agent].push_back(entry->id);
}

// The session has no use for the job any more, finished or not; the caller erases it.
void Tracker::drop_job(Session& session, JobRecord& record) {
  const JobKey key{session.spec.session, record.job.seq};
  switch (record.state) {
    case JobState::kQueued: queue_.erase(key); break;
    case JobState::kLeased: {
      const HeldLease lease = *leases_.find(key);
      cancels_[lease.agent].push_back(lease.id);
      release(key, spent(lease), false);
      if (Device* device = registry_.device(lease.device)) device->progress = clock_.now();  // what follows is not paid for this time
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

void Tracker::on(ConnectionId, Session* session, wire::Summary& summary) {
  const double seconds = std::chrono::duration<double>(clock_.now() - session->opened).count();
  session->curve.add({seconds, summary.trials, summary.best_gflops});
  session->summary = std::move(summary);
}

void Tracker::on(ConnectionId connection, Session* session, wire::SessionClose& close) {
  log::event(log::Level::info, "a session closed", {{"session", session->spec.session.text()}, {"done", session->done}, {"why", close.reason}});
  session_connections_.erase(connection);
  drop_session(wire::Uuid(session->spec.session));
}

void Tracker::drop_session(const wire::Uuid& uuid) {
  const auto it = sessions_.find(uuid);
  if (it->second.connection) session_connections_.erase(*it->second.connection);
  for (auto& [seq, record] : it->second.jobs) drop_job(it->second, record);
  queue_.remove_session(uuid);
  results_.erase(uuid);
  close_demand(*it->second.demand);
  sessions_.erase(it);
}

}  // namespace hone::tracker
