#include "tracker/core.h"

#include <fmt/format.h>

#include <set>

#include "base/log_fields.h"
#include "tracker/connections.h"

namespace hone::tracker {
Tracker::Tracker(TrackerOptions options, const Clock& clock, Outbox& outbox)
    : options_(options),
      clock_(clock),
      memory_(MemoryPlan::of(options.memory).peers, MemoryPlan::of(options.memory).share),
      book_(options_, clock, memory_),
      fleet_(options_, clock, counts_),
      out_(outbox, connections_of(fleet_.registry(), book_)),
      modules_(MemoryPlan::of(options.memory).blobs, options_, clock, book_, out_),
      queue_(options_.fair, clock, fleet_, book_),
      dispatch_(options_, clock, counts_, book_, fleet_, modules_, queue_, out_),
      lifecycle_(options_, clock, counts_, book_, fleet_, modules_, queue_, dispatch_, out_),
      reports_(options_, clock, counts_, book_, fleet_, dispatch_, lifecycle_, out_),
      transfer_(book_, fleet_, modules_, dispatch_, lifecycle_, out_),
      agents_(options_, clock, memory_, fleet_, queue_, dispatch_, reports_, transfer_, out_),
      sessions_(options_, clock, book_, fleet_, queue_, dispatch_, lifecycle_, reports_, transfer_, out_) {}

// --- messages

void Tracker::agent_message(ConnectionId connection, wire::FromAgent message, const gate::Tenant& tenant) {
  Agent* agent = fleet_.by_connection(connection);
  auto* hello = std::get_if<wire::AgentHello>(&message);
  if ((hello != nullptr) == (agent != nullptr))
    return refuse_agent(connection, {"a connection must begin with hello, sent once", false});
  if (agent) agent->heard_at = clock_.now();
  auto refused = std::visit(
      [&](auto& m) {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, wire::AgentHello>)
          return agents_.hello(connection, m, tenant);
        else
          return agents_.on(connection, *agent, m);
      },
      message);
  if (refused) refuse_agent(connection, *std::move(refused));
  dispatch_.grant();
  fleet_.tell_sessions(book_, out_, /*all=*/false);
  out_.flush();
}

void Tracker::session_message(ConnectionId connection, wire::FromSession message, const gate::Tenant& tenant) {
  Session* session = book_.by_connection(connection);
  auto* open = std::get_if<wire::SessionOpen>(&message);
  if ((open != nullptr) == (session != nullptr))
    return refuse_session(connection, {"a connection must begin with open, sent once", false});
  auto refused = std::visit(
      [&](auto& m) {
        if constexpr (std::is_same_v<std::decay_t<decltype(m)>, wire::SessionOpen>)
          return sessions_.open(connection, m, tenant);
        else
          return sessions_.on(*session, m);
      },
      message);
  if (refused) refuse_session(connection, *std::move(refused));
  dispatch_.grant();
  out_.flush();
}

void Tracker::refuse_agent(ConnectionId connection, wire::Refused refused) {
  log::event(log::Level::debug, "refused an agent", {{"connection", connection}, {"why", refused.reason}});
  ++counts_.refused;
  agents_.gone(connection);
  out_.to_agent(connection, std::move(refused));
}

void Tracker::refuse_session(ConnectionId connection, wire::Refused refused) {
  log::event(log::Level::debug, "refused a session", {{"connection", connection}, {"why", refused.reason}});
  ++counts_.refused;
  sessions_.gone(connection);
  out_.to_session(connection, std::move(refused));
}

// --- time

void Tracker::tick() {
  lifecycle_.expire();
  reports_.expire();
  sessions_.expire();
  transfer_.expire();
  fleet_.forget_lost();
  for (Device* device : fleet_.quarantine().begin_probations()) queue_.update(*device);
  fleet_.count_busy();
  queue_.retry();
  dispatch_.grant();
  dispatch_.take_back();
  fleet_.tell_sessions(book_, out_, /*all=*/true);
  out_.flush();
}

// --- people

TrackerCounts Tracker::counts() const {
  TrackerCounts out = counts_;
  out.blob_bytes = modules_.store().bytes();
  out.blobs = modules_.store().size();
  out.unfinished_leases = dispatch_.leases().size();
  out.memory_used = memory_.used();
  out.memory_most = memory_.most();
  return out;
}

StatusOr<std::string> Tracker::admin(const std::string& action, const std::string& name) {
  if (action != "cancel") return mark(action, name);
  auto line = sessions_.cancel(name);
  dispatch_.grant();
  out_.flush();
  return line;
}

StatusOr<std::string> Tracker::mark(const std::string& action, const std::string& name) {
  Mark mark;
  if (action == "drain")
    mark = Mark::kDraining;
  else if (action == "quarantine")
    mark = Mark::kQuarantined;
  else if (action == "resume")
    mark = Mark::kNone;
  else
    return absl::InvalidArgumentError(
        fmt::format("unknown action '{}'; allowed: drain, resume, quarantine, cancel", action));
  HONE_ASSIGN_OR_RETURN(const std::vector<Device*> marked, fleet_.mark_by_hand(name, mark, action));
  log::event(log::Level::info, "administered", {{"action", action}, {"name", name}, {"devices", marked.size()}});
  std::set<const Agent*> agents;
  for (Device* device : marked) {
    agents.insert(device->owner);
    dispatch_.apply(*device, mark == Mark::kNone ? Quarantine::Change::kEnded : Quarantine::Change::kBegan);
  }
  for (const Agent* agent : agents)
    if (agent->connection) out_.to_agent(*agent->connection, wire::Drained{fleet_.drained(*agent)});
  dispatch_.grant();
  fleet_.tell_sessions(book_, out_, /*all=*/true);
  out_.flush();
  if (marked.empty())
    return fmt::format("{}: {} is not connected; it will not be quarantined when it connects", action, name);
  return fmt::format("{}: {} device{}", action, marked.size(), marked.size() == 1 ? "" : "s");
}

}  // namespace hone::tracker
