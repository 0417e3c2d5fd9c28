// What sessions say.
#include <fmt/format.h>

#include <algorithm>

#include "base/log_fields.h"
#include "tracker/core.h"

namespace hone::tracker {
namespace {

constexpr size_t kMaxReferences = 16;  // of a session, remembered to be shared: one a task
constexpr size_t kMaxCancelled = 1024;

// What they take in memory, roughly, and never less than that. A job counts with its result, which is no larger than
// its profile allows.
constexpr size_t kSessionBytes = 64 << 10;

size_t bytes_of(const wire::Job& job) {
  const size_t times = std::max(job.profile.repeats, job.profile.refine_repeats);
  const size_t of_candidate = 64 + (5 << 10) + 8 * times;
  return 1024 + job.candidates() * of_candidate + (job.fake ? job.fake->padding.size() : 0);
}

std::string new_id() { return wire::Uuid::random().text().substr(24); }

std::string mebibytes(size_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

}  // namespace

void Tracker::refuse_session(ConnectionId connection, std::string reason, bool retry) {
  log::event(log::Level::debug, "refused a session", {{"connection", connection}, {"why", reason}});
  ++counts_.refused;
  session_gone(connection);
  outbox_.to_session(connection, wire::Refused{std::move(reason), retry});
}

bool Tracker::admit(ConnectionId connection, const wire::SessionOpen& open, const Tenant& tenant) {
  const auto refuse = [&](std::string why, bool retry) {
    refuse_session(connection, std::move(why), retry);
    return false;
  };
  if (open.protocol != wire::kProtocolVersion)
    return refuse(fmt::format("the session speaks protocol {}, the tracker {}", open.protocol, wire::kProtocolVersion),
                  false);
  if (cancelled_.contains(open.session)) return refuse("an administrator cancelled the session", false);
  if (const auto known = sessions_.find(open.session); known != sessions_.end())
    return known->second.tenant == tenant.name || refuse("the session belongs to another token", false);
  if (sessions_.size() >= options_.max_sessions)
    return refuse(fmt::format("the tracker has {} sessions, and takes no more", options_.max_sessions), true);
  const auto own = static_cast<size_t>(std::count_if(
      sessions_.begin(), sessions_.end(), [&](const auto& one) { return one.second.tenant == tenant.name; }));
  return own < tenant.limits.sessions ||
         refuse(fmt::format("the token has {} sessions, and its line allows no more (sessions=)", own), true);
}

// What the tenant may not ask for becomes what it may; a line for people each.
std::vector<std::string> Tracker::clamp_wishes(wire::SessionOpen& open, const Tenant& tenant) const {
  std::vector<std::string> notes;
  if (open.priority > tenant.limits.priority) {
    notes.push_back(fmt::format("priority {} is more than the token's line allows; it is {} (priority=)", open.priority,
                                tenant.limits.priority));
    open.priority = tenant.limits.priority;
  }
  if (open.weight > tenant.limits.weight) {
    notes.push_back(fmt::format("weight {} is more than the token's line allows; it is {} (weight=)", open.weight,
                                tenant.limits.weight));
    open.weight = tenant.limits.weight;
  }
  return notes;
}

void Tracker::on(ConnectionId connection, wire::SessionOpen& open, const Tenant& tenant) {
  if (!admit(connection, open, tenant)) return;
  const auto known = sessions_.find(open.session);
  const auto account = memory_.account(tenant.name, tenant.limits.bytes);
  auto charge = known == sessions_.end() ? account->take(kSessionBytes) : std::optional(MemoryBudget::Charge());
  if (!charge)
    return refuse_session(connection,
                          fmt::format("no room for a session: the token's share of the tracker's memory is {}",
                                      mebibytes(account->share())),
                          true);
  if (known != sessions_.end() && known->second.connection) {
    const ConnectionId previous = *known->second.connection;
    session_gone(previous);
    // It may try again: what reached us last need not be what it said last, after a network that kept messages back.
    outbox_.to_session(previous, wire::Refused{"the session was opened again elsewhere", true});
  }
  wire::SessionOpened opened;
  opened.notes = clamp_wishes(open, tenant);
  Session& session = sessions_[open.session];
  if (known == sessions_.end()) {
    do session.id = new_id();
    while (!session_ids_.emplace(session.id, open.session).second);
    session.tenant = tenant.name;
    session.charge = *std::move(charge);
    session.opened = clock_.now();
  }
  session.account = account;
  session.silent = false;
  session.spec = open;
  session.connection = connection;
  session_connections_[connection] = open.session;
  set_demand(session);
  queue_.set_absent(open.session, false);
  opened.window = options_.window;
  opened.devices = shown(*session.demand);
  for (const auto& [seq, record] : session.jobs) {
    opened.known.push_back(seq);
    if (record.result) results_[open.session].push_back(*record.result);
  }
  session.events.add(clock_.now(), known == sessions_.end()
                                       ? "opened"
                                       : fmt::format("connected again, with {} jobs", opened.known.size()));
  log::event(log::Level::info, "a session opened",
             {{"session", open.session.text()},
              {"id", session.id},
              {"tenant", session.tenant},
              {"title", open.title},
              {"jobs", opened.known.size()},
              {"devices", opened.devices.size()}});
  outbox_.to_session(connection, std::move(opened));
  ask_again(session);
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
    if (job.fake && !options_.allow_fake)
      return refuse_session(connection, "this tracker takes no jobs that measure nothing (--allow-fake)", false);
    auto charge = session->account->take(bytes_of(job));
    JobRecord record;
    record.job = std::move(job);
    if (!charge || !share_reference(*session, record))
      return refuse_session(connection,
                            fmt::format("no room for the session's jobs: the token's share of the tracker's memory is "
                                        "{} (bytes= of its line), all tokens' {}",
                                        mebibytes(session->account->share()), mebibytes(memory_.most())),
                            true);
    record.charge = *std::move(charge);
    record.budget_s = budget_seconds(record.job);
    record.submitted = clock_.now();
    claim(*session, session->jobs.emplace(seq, std::move(record)).first->second);
  }
}

// False: there is no room for it.
bool Tracker::share_reference(Session& session, JobRecord& record) {
  if (!record.job.reference) return true;
  const auto known = std::find_if(session.references.begin(), session.references.end(),
                                  [&](const auto& one) { return one->reference == *record.job.reference; });
  if (known != session.references.end()) {
    record.reference = *known;
  } else {
    size_t bytes = 512;
    for (const std::vector<int64_t>& indices : record.job.reference->samples)
      bytes += sizeof indices + indices.size() * sizeof(int64_t);
    auto charge = session.account->take(bytes);
    if (!charge) return false;
    record.reference =
        std::make_shared<const SharedReference>(SharedReference{std::move(*record.job.reference), *std::move(charge)});
    if (session.references.size() >= kMaxReferences) session.references.erase(session.references.begin());
    session.references.push_back(record.reference);
  }
  record.job.reference.reset();
  return true;
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
    case JobState::kWaiting: stop_waiting(session, record); break;
    case JobState::kQueued: queue_.erase(key); break;
    case JobState::kLeased: {
      const HeldLease lease = *leases_.find(key);
      cancels_[lease.agent].push_back(lease.id);
      release(key, spent(lease), false);
      // What follows is not paid for this time.
      if (Device* device = registry_.device(lease.device)) device->progress = clock_.now();
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
  log::event(log::Level::info, "a session closed",
             {{"session", session->spec.session.text()}, {"done", session->done}, {"why", close.reason}});
  session_connections_.erase(connection);
  drop_session(wire::Uuid(session->spec.session));
}

void Tracker::drop_session(const wire::Uuid& uuid) {
  const auto it = sessions_.find(uuid);
  if (it->second.connection) session_connections_.erase(*it->second.connection);
  for (auto& [seq, record] : it->second.jobs) drop_job(it->second, record);
  no_answer_from(it->second);
  queue_.remove_session(uuid);
  session_ids_.erase(it->second.id);
  results_.erase(uuid);
  close_demand(*it->second.demand);
  sessions_.erase(it);
}

// Nobody waits for its answers now: what devices have not begun goes to the sessions that do, if there are any.
void Tracker::ask_for_leases_of(const Session& session) {
  std::map<ConnectionId, wire::TakeBack> asked;
  for (const auto& [seq, record] : session.jobs) {
    if (record.state != JobState::kLeased) continue;
    HeldLease& lease = *leases_.find({session.spec.session, seq});
    const Device* device = registry_.device(lease.device);
    if (!device || !device->owner->connection || lease.take_back_asked || !queue_.lowest(device->place.pool->groups))
      continue;
    lease.take_back_asked = true;
    asked[*device->owner->connection].leases.push_back(lease.id);
  }
  for (auto& [connection, message] : asked) {
    counts_.taken_back += message.leases.size();
    outbox_.to_agent(connection, std::move(message));
  }
}

StatusOr<std::string> Tracker::cancel_session(const std::string& id) {
  const Session* session = session_called(id);
  if (!session)
    return absl::NotFoundError(
        fmt::format("no session is called '{}'; `tracker status` and the dashboard show what they are called", id));
  const wire::Uuid uuid = session->spec.session;
  const std::string line = fmt::format("cancel: session {} with {} jobs", session->id, session->jobs.size());
  log::event(log::Level::info, "administered",
             {{"action", "cancel"}, {"session", uuid.text()}, {"id", session->id}, {"tenant", session->tenant}});
  if (cancelled_.size() < kMaxCancelled) cancelled_[uuid] = clock_.now();
  if (const auto connection = session->connection)
    outbox_.to_session(*connection, wire::Refused{"an administrator cancelled the session", false});
  drop_session(uuid);
  return line;
}

}  // namespace hone::tracker
