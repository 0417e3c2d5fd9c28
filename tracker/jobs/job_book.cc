#include "tracker/jobs/job_book.h"

#include <fmt/format.h>

#include <algorithm>

namespace hone::tracker {
namespace {

constexpr size_t kMaxReferences = 16;  // of a session, remembered to be shared: one a task
constexpr size_t kMaxBarred = 1024;

// The memory of sessions and jobs, roughly, and never less than the truth. A job counts with its result, which is no
// larger than its profile allows.
constexpr size_t kSessionBytes = 64 << 10;

size_t bytes_of(const wire::Job& job) {
  const size_t times = std::max(job.profile.repeats, job.profile.refine_repeats);
  const size_t of_candidate = 64 + (5 << 10) + 8 * times;
  return 1024 + job.candidates() * of_candidate + (job.fake ? job.fake->padding.size() : 0) +
         (job.build ? wire::kMaxObjectBytes + wire::kMaxObjectInfoBytes : 0);
}

std::string new_id() { return wire::Uuid::random().text().substr(24); }

std::string mebibytes(size_t bytes) { return fmt::format("{} MiB", bytes >> 20); }

}  // namespace

double budget_seconds(const wire::Job& job) {
  if (job.fake) return job.fake->run_seconds + 60;
  const wire::MeasureProfile& p = job.profile;
  // The run deadline is a floor: several times that for slow candidates, which are stopped by their agent.
  return static_cast<double>(job.candidates()) * (p.build_timeout_s + 4 * p.run_timeout_s) +
         (job.reference ? job.reference->timeout_s : 0) + 60;
}

Session* JobBook::find(const wire::Uuid& uuid) {
  const auto it = sessions_.find(uuid);
  return it == sessions_.end() ? nullptr : &it->second;
}

const Session* JobBook::find(const wire::Uuid& uuid) const {
  const auto it = sessions_.find(uuid);
  return it == sessions_.end() ? nullptr : &it->second;
}

Session* JobBook::by_connection(ConnectionId connection) {
  const auto it = connections_.find(connection);
  return it == connections_.end() ? nullptr : &sessions_.at(it->second);
}

JobRecord* JobBook::job(const JobKey& key) {
  Session* session = find(key.session);
  if (!session) return nullptr;
  const auto job = session->jobs.find(key.seq);
  return job == session->jobs.end() ? nullptr : &job->second;
}

const Session* JobBook::called(const std::string& id) const {
  const auto known = ids_.find(id);
  const auto uuid = known != ids_.end() ? std::optional(known->second) : wire::Uuid::parse(id);
  return uuid ? find(*uuid) : nullptr;
}

std::vector<wire::Uuid> JobBook::abandoned() const {
  std::vector<wire::Uuid> out;
  for (const auto& [uuid, session] : sessions_)
    if (!session.connection && clock_.now() - session.gone_at >= options_.session_grace) out.push_back(uuid);
  return out;
}

std::optional<wire::Refused> JobBook::objection(const wire::SessionOpen& open, const gate::Tenant& tenant) const {
  if (open.protocol != wire::kProtocolVersion)
    return wire::Refused{
        fmt::format("the session speaks protocol {}, the tracker {}", open.protocol, wire::kProtocolVersion), false};
  if (barred_.contains(open.session)) return wire::Refused{"an administrator cancelled the session", false};
  if (const Session* known = find(open.session)) {
    if (known->tenant == tenant.name) return std::nullopt;
    return wire::Refused{"the session belongs to another token", false};
  }
  if (sessions_.size() >= options_.max_sessions)
    return wire::Refused{fmt::format("the tracker has {} sessions and accepts no more", options_.max_sessions), true};
  const auto own = static_cast<size_t>(std::count_if(
      sessions_.begin(), sessions_.end(), [&](const auto& one) { return one.second.tenant == tenant.name; }));
  if (own < tenant.limits.sessions) return std::nullopt;
  return wire::Refused{fmt::format("the token has {} sessions, the most that its line allows (sessions=)", own), true};
}

std::variant<JobBook::Admitted, wire::Refused> JobBook::admit(const wire::SessionOpen& open,
                                                              const gate::Tenant& tenant) {
  if (auto refused = objection(open, tenant)) return *std::move(refused);
  auto account = memory_.account(tenant.name, tenant.limits.bytes);
  auto charge = find(open.session) ? std::optional(MemoryBudget::Charge()) : account->take(kSessionBytes);
  if (!charge)
    return wire::Refused{fmt::format("no memory for a session: the token may use {} of the tracker's memory",
                                     mebibytes(account->share())),
                         true};
  return Admitted{std::move(account), *std::move(charge)};
}

Session& JobBook::open(const wire::SessionOpen& open, ConnectionId connection, const gate::Tenant& tenant,
                       Admitted admitted) {
  const auto [entry, is_new] = sessions_.try_emplace(open.session);
  Session& session = entry->second;
  if (is_new) {
    do session.id = new_id();
    while (!ids_.emplace(session.id, open.session).second);
    session.tenant = tenant.name;
    session.charge = std::move(admitted.charge);
    session.opened = clock_.now();
  }
  session.account = std::move(admitted.account);
  session.silent = false;
  session.host = tenant.host;
  session.spec = open;
  session.connection = connection;
  connections_[connection] = open.session;
  return session;
}

void JobBook::disconnect(Session& session) {
  if (session.connection) connections_.erase(*session.connection);
  session.connection.reset();
  session.gone_at = clock_.now();
}

void JobBook::erase(const wire::Uuid& uuid) {
  const auto it = sessions_.find(uuid);
  if (it->second.connection) connections_.erase(*it->second.connection);
  ids_.erase(it->second.id);
  sessions_.erase(it);
}

void JobBook::bar(const wire::Uuid& uuid) {
  if (barred_.size() < kMaxBarred) barred_[uuid] = clock_.now();
}

void JobBook::lift_bars() {
  std::erase_if(barred_, [&](const auto& one) { return clock_.now() - one.second >= options_.forget_lost; });
}

std::variant<JobRecord*, wire::Refused> JobBook::add(Session& session, wire::Job job) {
  if (session.jobs.size() >= options_.window)
    return wire::Refused{fmt::format("more than {} jobs are outstanding", options_.window), false};
  if (job.fake && !options_.allow_fake)
    return wire::Refused{"this tracker does not accept jobs that measure nothing (--allow-fake)", false};
  auto charge = session.account->take(bytes_of(job));
  JobRecord record;
  record.budget_s = budget_seconds(job);  // with its reference, which it loses below
  record.job = std::move(job);
  if (!charge || !share_reference(session, record))
    return wire::Refused{fmt::format("no memory for the session's jobs: of the tracker's memory the token may use "
                                     "{} (bytes= in its line), all tokens {}",
                                     mebibytes(session.account->share()), mebibytes(memory_.most())),
                         true};
  record.charge = *std::move(charge);
  record.submitted = clock_.now();
  const uint64_t seq = record.job.seq;
  return &session.jobs.emplace(seq, std::move(record)).first->second;
}

// False: there is no room for it.
bool JobBook::share_reference(Session& session, JobRecord& record) {
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

}  // namespace hone::tracker
