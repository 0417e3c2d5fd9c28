// Messages come in and go out; time passes.
#include "tracker/core.h"

#include <algorithm>

#include "base/log_fields.h"

namespace hone::tracker {
namespace {

constexpr size_t kResultsPerMessage = 64;
constexpr std::chrono::seconds kBusyStep{1};  // of histories

}  // namespace

Tracker::Tracker(TrackerOptions options, const Clock& clock, Outbox& outbox)
    : options_(options),
      clock_(clock),
      outbox_(outbox),
      started_(clock.now()),
      registry_(clock),
      leases_(clock, options.lease, options.first_epoch),
      queue_(clock, options.fair),
      blobs_(MemoryPlan::of(options.memory).blobs),
      memory_(MemoryPlan::of(options.memory).peers, MemoryPlan::of(options.memory).share) {}

void Tracker::agent_message(ConnectionId connection, wire::FromAgent message, const Tenant& tenant) {
  Agent* agent = registry_.by_connection(connection);
  const bool is_hello = std::holds_alternative<wire::AgentHello>(message);
  if (is_hello == (agent != nullptr))
    return refuse_agent(connection, "the first message of a connection, and only that, is hello", false);
  if (agent) agent->heard_at = clock_.now();
  if (auto* hello = std::get_if<wire::AgentHello>(&message)) {
    on(connection, *hello, tenant);
  } else {
    std::visit(
        [&](auto& m) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(m)>, wire::AgentHello>) on(connection, agent, m);
        },
        message);
  }
  dispatch();
  notify_devices(/*all=*/false);
  flush();
}

void Tracker::agent_gone(ConnectionId connection) {
  Agent* agent = registry_.by_connection(connection);
  if (!agent) return;
  registry_.disconnect(*agent);
  for (const std::string& key : agent->devices) {
    Device& device = *registry_.device(key);
    refresh(device);
    note(device, "the agent is gone");
  }
  leases_.limit(agent->name, options_.agent_grace);
  for (auto& [hash, pending] : pending_blobs_) pending.waiters.erase(connection);
  log::event(log::Level::info, "an agent is gone",
             {{"agent", agent->name}, {"leases", leases_.size_of_agent(agent->name)}});
}

void Tracker::session_message(ConnectionId connection, wire::FromSession message, const Tenant& tenant) {
  Session* session = session_of(connection);
  const bool is_open = std::holds_alternative<wire::SessionOpen>(message);
  if (is_open == (session != nullptr))
    return refuse_session(connection, "the first message of a connection, and only that, is open", false);
  if (auto* open = std::get_if<wire::SessionOpen>(&message)) {
    on(connection, *open, tenant);
  } else {
    std::visit(
        [&](auto& m) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(m)>, wire::SessionOpen>) on(connection, session, m);
        },
        message);
  }
  dispatch();
  flush();
}

void Tracker::session_gone(ConnectionId connection) {
  Session* session = session_of(connection);
  if (!session) return;
  session_connections_.erase(connection);
  session->connection.reset();
  session->gone_at = clock_.now();
  no_answer_from(*session);
  queue_.set_absent(session->spec.session, true);
  ask_for_leases_of(*session);
  session->events.add(clock_.now(), "its connection is lost");
  log::event(log::Level::info, "a session is gone",
             {{"session", session->spec.session.text()}, {"jobs", session->jobs.size()}});
  flush();
}

Tracker::Session* Tracker::session_of(ConnectionId connection) {
  const auto it = session_connections_.find(connection);
  return it == session_connections_.end() ? nullptr : &sessions_.at(it->second);
}

Tracker::JobRecord* Tracker::job_of(const JobKey& key) {
  const auto session = sessions_.find(key.session);
  if (session == sessions_.end()) return nullptr;
  const auto job = session->second.jobs.find(key.seq);
  return job == session->second.jobs.end() ? nullptr : &job->second;
}

void Tracker::tick() {
  const auto now = clock_.now();
  expire();
  for (const Unclaimed& entry : leases_.expire_unclaimed())
    (entry.result ? acks_ : cancels_)[entry.agent].push_back(entry.id);
  std::vector<wire::Uuid> over;
  for (const auto& [uuid, session] : sessions_)
    if (!session.connection && now - session.gone_at >= options_.session_grace) over.push_back(uuid);
  for (const wire::Uuid& uuid : over) drop_session(uuid);
  expire_blobs();
  std::erase_if(cancelled_, [&](const auto& one) { return now - one.second >= options_.forget_lost; });
  forget_lost_agents();
  begin_probations();
  for (const auto& [key, device] : busy_)
    if (now - device->busy_counted >= kBusyStep) count_busy(*device);
  for (const auto& [text, demand] : matching_.demands())
    if (queue_.retries(demand->id) > 0) freshen(*demand);  // the device that lost them may have them now
  dispatch();
  take_back();
  notify_devices(/*all=*/true);
  flush();
}

void Tracker::flush() {
  send_asked();
  for (auto& [uuid, results] : std::exchange(results_, {})) {
    const auto session = sessions_.find(uuid);
    if (session == sessions_.end() || !session->second.connection) continue;
    for (size_t at = 0; at < results.size(); at += kResultsPerMessage) {
      const auto first = results.begin() + static_cast<std::ptrdiff_t>(at);
      const auto last =
          results.begin() + static_cast<std::ptrdiff_t>(std::min(results.size(), at + kResultsPerMessage));
      outbox_.to_session(*session->second.connection,
                         wire::SessionResults{{std::make_move_iterator(first), std::make_move_iterator(last)}});
    }
  }
  for (auto& [name, ids] : std::exchange(cancels_, {}))
    if (const Agent* agent = registry_.agent(name); agent && agent->connection)
      outbox_.to_agent(*agent->connection, wire::Cancel{std::move(ids)});
  for (auto& [connection, hashes] : std::exchange(missing_, {}))
    outbox_.to_agent(connection, wire::Blobs{{}, std::move(hashes)});
  for (auto& [name, ids] : std::exchange(acks_, {}))
    if (const Agent* agent = registry_.agent(name); agent && agent->connection)
      outbox_.to_agent(*agent->connection, wire::ResultAck{std::move(ids)});
}

}  // namespace hone::tracker
