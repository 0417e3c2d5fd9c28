#include "tracker/agent_handler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log_fields.h"
#include "rpc/wire/access/key_proof.h"

namespace hone::tracker {
namespace {

constexpr uint32_t kMaxCredits = 1 << 16;

// The memory that an agent and its devices take, including their histories and their places in pages.
size_t bytes_of(const wire::AgentHello& hello) {
  size_t bytes = 4096;
  for (const wire::DeviceInfo& info : hello.devices) {
    size_t text = info.key.size() + info.target.size() + info.model.size() + info.compute_capability.size();
    for (const auto* pairs : {&info.versions, &info.labels})
      for (const auto& [key, value] : *pairs) text += 128 + key.size() + value.size();
    for (const auto* list : {&info.missing, &info.features})
      for (const std::string& one : *list) text += 48 + one.size();
    bytes += (16 << 10) + 4 * text;
  }
  return bytes;
}

}  // namespace

// The agent's earlier connection, if there is one, is over when it is admitted.
AgentHandler::Refusal AgentHandler::admit(const wire::AgentHello& hello) {
  if (const Status status = DeviceRegistry::check(hello.name, hello.devices); !status.ok())
    return wire::Refused{message_of(status), false};
  if (hello.protocol != wire::kProtocolVersion)
    return wire::Refused{fmt::format("agent '{}' speaks protocol {}, the tracker {}", hello.name, hello.protocol,
                                     wire::kProtocolVersion),
                         false};
  if (auto refused = fleet_.objection(hello)) return refused;
  const Agent* old = fleet_.agent(hello.name);
  if (!old || !old->connection) return std::nullopt;
  if (old->instance != hello.instance && clock_.now() - old->heard_at < options_.lease)
    return wire::Refused{fmt::format("an agent called '{}' is already connected", hello.name), true};
  const ConnectionId previous = *old->connection;
  gone(previous);
  out_.to_agent(previous, wire::Refused{"the agent connected again", true});
  return std::nullopt;
}

AgentHandler::Refusal AgentHandler::hello(ConnectionId connection, const wire::AgentHello& hello,
                                          const gate::Tenant& tenant) {
  if (auto refused = admit(hello)) return refused;
  const auto account = memory_.account(tenant.name, tenant.limits.bytes);
  auto charge = account->take(bytes_of(hello));
  if (!charge)
    return wire::Refused{
        fmt::format("no memory for its devices: the token may use {} MiB of the tracker's memory (bytes= in its line)",
                    account->share() >> 20),
        true};
  const bool restarted = fleet_.connect(hello, connection, *std::move(charge));
  wire::AgentWelcome welcome;
  welcome.heartbeat_s = std::chrono::duration<double>(options_.heartbeat).count();
  welcome.lease_s = std::chrono::duration<double>(options_.lease).count();
  welcome.forget = reports_.connected(hello, restarted);
  welcome.challenge = fleet_.agent(hello.name)->challenge;
  welcome.now = options_.started_unix_s + fleet_.since_start(clock_.now());
  log::event(log::Level::info, "an agent connected",
             {{"agent", hello.name},
              {"devices", hello.devices.size()},
              {"leases", hello.held.size() - welcome.forget.size()},
              {"restarted", restarted}});
  out_.to_agent(connection, std::move(welcome));
  // Where people drained or resumed its devices while it was away.
  if (auto drained = fleet_.drained(*fleet_.agent(hello.name)); drained != hello.drained)
    out_.to_agent(connection, wire::Drained{std::move(drained)});
  return std::nullopt;
}

AgentHandler::Refusal AgentHandler::on(ConnectionId, const Agent& agent, const wire::Want& want) {
  Device* device = fleet_.device(want.device);
  if (!device || device->agent != agent.name)
    return wire::Refused{
        fmt::format("agent '{}' asked for leases of '{}', which is not one of its devices", agent.name, want.device),
        true};
  device->credits = std::min(device->credits + want.slots, kMaxCredits);
  queue_.update(*device);
  return std::nullopt;
}

AgentHandler::Refusal AgentHandler::on(ConnectionId, const Agent& agent, wire::Heartbeat& heartbeat) {
  for (wire::DeviceHealth& health : heartbeat.health)
    if (Device* device = fleet_.device(health.device); device && device->agent == agent.name)
      fleet_.take_readings(*device, std::move(health));
  reports_.working(agent, heartbeat.working);
  return std::nullopt;
}

AgentHandler::Refusal AgentHandler::on(ConnectionId, const Agent& agent, wire::AgentResults& results) {
  reports_.results(agent, results);
  return std::nullopt;
}

AgentHandler::Refusal AgentHandler::on(ConnectionId connection, const Agent& agent, const wire::BlobRequest& request) {
  transfer_.requested(connection, agent, request);
  return std::nullopt;
}

AgentHandler::Refusal AgentHandler::on(ConnectionId, const Agent& agent, const wire::GiveBack& give_back) {
  reports_.give_back(agent, give_back);
  return std::nullopt;
}

// A proof that does not hold is no slip: an agent that has no key sends none.
AgentHandler::Refusal AgentHandler::on(ConnectionId, const Agent& agent, const wire::KeyProof& proof) {
  Device* device = fleet_.device(proof.device);
  if (!device || device->agent != agent.name)
    return wire::Refused{
        fmt::format("agent '{}' proved the key of '{}', which is not one of its devices", agent.name, proof.device),
        false};
  if (!device->claim.open()) return std::nullopt;
  if (const Status proved = wire::check_key_proof(proof, agent.challenge, device->claim.fingerprint); !proved.ok())
    return wire::Refused{fmt::format("device '{}': {}", proof.device, message_of(proved)), false};
  fleet_.key_proved(*device);
  queue_.update(*device);
  log::event(log::Level::info, "a builder has proved its key",
             {{"device", proof.device}, {"key", device->claim.fingerprint}});
  return std::nullopt;
}

void AgentHandler::gone(ConnectionId connection) {
  Agent* agent = fleet_.by_connection(connection);
  if (!agent) return;
  fleet_.disconnect(*agent);
  for (const std::string& key : agent->devices) queue_.update(*fleet_.device(key));
  dispatch_.limit(*agent);
  transfer_.agent_gone(connection);
  log::event(log::Level::info, "an agent disconnected",
             {{"agent", agent->name}, {"leases", dispatch_.leases().size_of_agent(agent->name)}});
}

}  // namespace hone::tracker
