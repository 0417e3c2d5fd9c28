#include "tracker/session_handler.h"

#include <fmt/format.h>

#include <vector>

#include "base/log_fields.h"

namespace hone::tracker {
namespace {

// Lowers each wish to what the tenant is allowed; returns a line for people about each.
std::vector<std::string> clamp_wishes(wire::SessionOpen& open, const gate::TenantLimits& limits) {
  std::vector<std::string> notes;
  if (open.priority > limits.priority) {
    notes.push_back(fmt::format("priority {} is more than the token's line allows; {} is used (priority=)",
                                open.priority, limits.priority));
    open.priority = limits.priority;
  }
  if (open.weight > limits.weight) {
    notes.push_back(fmt::format("weight {} is more than the token's line allows; {} is used (weight=)", open.weight,
                                limits.weight));
    open.weight = limits.weight;
  }
  return notes;
}

}  // namespace

SessionHandler::Refusal SessionHandler::open(ConnectionId connection, wire::SessionOpen& open,
                                             const gate::Tenant& tenant) {
  auto admitted = book_.admit(open, tenant);
  if (auto* refused = std::get_if<wire::Refused>(&admitted)) return std::move(*refused);
  const Session* known = book_.find(open.session);
  const bool is_new = !known;
  if (known && known->connection) {
    const ConnectionId previous = *known->connection;
    gone(previous);
    // It may try again: the message that reached us last need not be its last, after a network that kept messages back.
    out_.to_session(previous, wire::Refused{"the session was opened again elsewhere", true});
  }
  wire::SessionOpened opened;
  opened.notes = clamp_wishes(open, tenant.limits);
  Session& session = book_.open(open, connection, tenant, std::get<JobBook::Admitted>(std::move(admitted)));
  queue_.join(session);
  queue_.set_absent(session, false);
  opened.window = options_.window;
  opened.now = options_.started_unix_s + fleet_.since_start(clock_.now());
  opened.devices = fleet_.shown(*session.demand);
  for (const auto& [seq, record] : session.jobs) {
    opened.known.push_back(seq);
    if (record.result) out_.result(open.session, *record.result);
  }
  session.events.add(clock_.now(),
                     is_new ? "opened" : fmt::format("connected again, with {} jobs", opened.known.size()));
  log::event(log::Level::info, "a session opened",
             {{"session", open.session.text()},
              {"id", session.id},
              {"tenant", session.tenant},
              {"title", open.title},
              {"jobs", opened.known.size()},
              {"devices", opened.devices.size()}});
  out_.to_session(connection, std::move(opened));
  transfer_.connected(session);
  return std::nullopt;
}

SessionHandler::Refusal SessionHandler::on(Session& session, wire::Submit& submit) {
  for (wire::Job& job : submit.jobs) {
    if (session.jobs.contains(job.seq)) continue;
    auto added = book_.add(session, std::move(job));
    if (auto* refused = std::get_if<wire::Refused>(&added)) return std::move(*refused);
    reports_.claim(session, *std::get<JobRecord*>(added));
  }
  return std::nullopt;
}

SessionHandler::Refusal SessionHandler::on(Session& session, wire::Blobs& blobs) {
  transfer_.received(session, blobs);
  return std::nullopt;
}

SessionHandler::Refusal SessionHandler::on(Session& session, const wire::SessionAck& ack) {
  for (const uint64_t seq : ack.seqs) {
    const auto it = session.jobs.find(seq);
    if (it == session.jobs.end()) continue;
    lifecycle_.drop(session, it->second);
    session.jobs.erase(it);
  }
  return std::nullopt;
}

SessionHandler::Refusal SessionHandler::on(Session& session, const wire::CancelJobs& cancel) {
  if (cancel.seqs.empty())
    for (auto& [seq, record] : session.jobs) lifecycle_.cancel(session, record);
  for (const uint64_t seq : cancel.seqs)
    if (const auto it = session.jobs.find(seq); it != session.jobs.end()) lifecycle_.cancel(session, it->second);
  return std::nullopt;
}

SessionHandler::Refusal SessionHandler::on(Session& session, wire::Summary& summary) {
  const double seconds = std::chrono::duration<double>(clock_.now() - session.opened).count();
  session.curve.add({seconds, summary.trials, summary.best_gflops, summary.model ? summary.model->seconds : 0,
                     summary.model ? summary.model->share() : 0});
  session.summary = std::move(summary);
  return std::nullopt;
}

SessionHandler::Refusal SessionHandler::on(Session& session, const wire::SessionClose& close) {
  log::event(log::Level::info, "a session closed",
             {{"session", session.spec.session.text()}, {"done", session.done}, {"why", close.reason}});
  end(session);
  return std::nullopt;
}

void SessionHandler::gone(ConnectionId connection) {
  Session* session = book_.by_connection(connection);
  if (!session) return;
  book_.disconnect(*session);
  transfer_.no_answer_from(*session);
  queue_.set_absent(*session, true);
  dispatch_.ask_back(*session);
  session->events.add(clock_.now(), "its connection was lost");
  log::event(log::Level::info, "a session disconnected",
             {{"session", session->spec.session.text()}, {"jobs", session->jobs.size()}});
  out_.flush();
}

void SessionHandler::expire() {
  for (const wire::Uuid& uuid : book_.abandoned()) end(book_.at(uuid));
  book_.lift_bars();
}

// Its jobs go with it.
void SessionHandler::end(Session& session) {
  const wire::Uuid uuid = session.spec.session;
  for (auto& [seq, record] : session.jobs) lifecycle_.drop(session, record);
  transfer_.no_answer_from(session);
  queue_.leave(session);
  out_.forget_results(uuid);
  book_.erase(uuid);
}

StatusOr<std::string> SessionHandler::cancel(const std::string& id) {
  const Session* called = book_.called(id);
  if (!called)
    return absl::NotFoundError(
        fmt::format("no session is called '{}'; `tracker status` and the dashboard list the sessions", id));
  Session& session = book_.at(called->spec.session);
  const std::string line = fmt::format("cancel: session {} with {} jobs", session.id, session.jobs.size());
  log::event(
      log::Level::info, "administered",
      {{"action", "cancel"}, {"session", session.spec.session.text()}, {"id", session.id}, {"tenant", session.tenant}});
  book_.bar(session.spec.session);
  if (const auto connection = session.connection)
    out_.to_session(*connection, wire::Refused{"an administrator cancelled the session", false});
  end(session);
  return line;
}

}  // namespace hone::tracker
