#include "tests/fuzz/wire/world.h"

#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "rpc/wire/access/channel.h"
#include "rpc/wire/messages/convert.h"

namespace hone::fuzz {
namespace {

using namespace std::chrono_literals;
using tracker::ConnectionId;

constexpr size_t kMessagesKept = 64;  // messages to the attacker that are kept; more are a flood that is not read
constexpr uint32_t kGoodSlots = 4;

tracker::TrackerOptions options() {
  tracker::TrackerOptions options;
  options.window = 32;
  options.max_agents = 8, options.max_sessions = 8;
  options.allow_fake = true;
  return options;
}

wire::JobResult answer(const wire::Lease& lease) {
  wire::JobResult result;
  result.session = lease.id.session;
  result.seq = lease.id.seq;
  result.device = lease.device;
  result.candidates.resize(lease.job.candidates());
  result.phases.run = 0.01;
  return result;
}

}  // namespace

wire::Uuid fixed_uuid(uint8_t which) {
  wire::Uuid uuid;
  uuid.value.fill(which);
  return uuid;
}

wire::DeviceInfo device_of(std::string_view agent) {
  wire::DeviceInfo info;
  info.key = std::string(agent) + "/cpu";
  info.target = "llvm -mcpu=test";
  return info;
}

std::vector<std::string> known_words() {
  std::vector<std::string> words{"good",  "good/cpu", "evil",       "evil/cpu", "llvm", "llvm -mcpu=test", "room=1",
                                 "drain", "resume",   "quarantine", "",         "/cpu", "a blob"};
  for (uint8_t which = 1; which <= 4; ++which) words.push_back(fixed_uuid(which).bytes());
  words.push_back(wire::blob_id("a blob").bytes());
  return words;
}

World::World() : options_(options()), tracker_(options_, clock_, *this) {
  spdlog::set_level(spdlog::level::off);
  wire::prepare_grpc();
  for (uint64_t seq = 1; seq <= kGoodJobs; ++seq) session_.outstanding.insert(seq);
  others_work();
}

void World::to_agent(ConnectionId connection, wire::ToAgent message) {
  auto& inbox = to_agents_[connection];
  if (connection == agent_.connection || inbox.size() < kMessagesKept) inbox.push_back(std::move(message));
}

void World::to_session(ConnectionId connection, wire::ToSession message) {
  auto& inbox = to_sessions_[connection];
  if (connection == session_.connection || inbox.size() < kMessagesKept) inbox.push_back(std::move(message));
}

std::vector<wire::ToAgent> World::take_agent(ConnectionId connection) {
  auto inbox = std::exchange(to_agents_[connection], {});
  return {std::make_move_iterator(inbox.begin()), std::make_move_iterator(inbox.end())};
}

std::vector<wire::ToSession> World::take_session(ConnectionId connection) {
  auto inbox = std::exchange(to_sessions_[connection], {});
  return {std::make_move_iterator(inbox.begin()), std::make_move_iterator(inbox.end())};
}

void World::pass(std::chrono::milliseconds time) {
  clock_.advance(time);
  tracker_.tick();
}

void World::others_work() {
  session_works();
  agent_works();
  session_works();
}

void World::agent_works() {
  if (!agent_.connection) {
    wire::AgentHello hello;
    hello.name = kGood;
    hello.instance = fixed_uuid(3);
    hello.devices = {device_of(kGood)};
    for (const auto& [id, lease] : agent_.held) hello.held.push_back(id), hello.held_devices.push_back(lease.device);
    for (const auto& [id, result] : agent_.results)
      hello.held.push_back(id), hello.held_devices.push_back(result.device);
    agent_.connection = new_connection();
    tracker_.agent_message(*agent_.connection, hello);
  }
  // The agent's answers make the tracker send more messages, and so on.
  for (int round = 0; round < 100 && agent_.connection; ++round) {
    auto messages = take_agent(*agent_.connection);
    for (wire::ToAgent& message : messages)
      if (agent_.connection) agent_hears(message);
    if (!agent_.connection) return;
    wire::Heartbeat beat;
    for (const auto& [id, lease] : agent_.held) beat.working.push_back(id);
    tracker_.agent_message(*agent_.connection, beat);
    const auto held = std::exchange(agent_.held, {});
    for (const auto& [id, lease] : held) {
      agent_.results[id] = answer(lease);
      tracker_.agent_message(*agent_.connection, wire::AgentResults{{agent_.results[id]}, {id}});
      tracker_.agent_message(*agent_.connection, wire::Want{"good/cpu", 1});
    }
    if (messages.empty() && held.empty()) return;
  }
}

void World::agent_hears(wire::ToAgent& message) {
  const auto forget = [this](const std::vector<wire::LeaseId>& ids) {
    for (const wire::LeaseId& id : ids) agent_.results.erase(id), agent_.held.erase(id);
  };
  if (const auto* welcome = std::get_if<wire::AgentWelcome>(&message)) {
    forget(welcome->forget);
    for (const auto& [id, result] : agent_.results)
      tracker_.agent_message(*agent_.connection, wire::AgentResults{{result}, {id}});
    tracker_.agent_message(*agent_.connection, wire::Want{"good/cpu", kGoodSlots});
  } else if (auto* leases = std::get_if<wire::Leases>(&message)) {
    for (wire::Lease& lease : leases->leases) {
      HONE_ICHECK(lease.device == "good/cpu") << "a lease for " << lease.device << " came to the good agent";
      const wire::LeaseId id = lease.id;
      agent_.held.emplace(id, std::move(lease));
    }
  } else if (const auto* ack = std::get_if<wire::ResultAck>(&message)) {
    forget(ack->leases);
  } else if (const auto* cancel = std::get_if<wire::Cancel>(&message)) {
    forget(cancel->leases);
    tracker_.agent_message(*agent_.connection, wire::Want{"good/cpu", static_cast<uint32_t>(cancel->leases.size())});
  } else if (std::holds_alternative<wire::Refused>(message)) {
    agent_.connection.reset();
  }
}

void World::session_works() {
  if (!session_.connection) {
    wire::SessionOpen open;
    open.session = good_session();
    open.target_kind = "llvm";
    session_.connection = new_connection();
    tracker_.session_message(*session_.connection, open);
  }
  auto messages = take_session(*session_.connection);
  for (wire::ToSession& message : messages) session_hears(message);
}

void World::session_hears(wire::ToSession& message) {
  if (const auto* opened = std::get_if<wire::SessionOpened>(&message)) {
    const std::set<uint64_t> known(opened->known.begin(), opened->known.end());
    wire::Submit submit;
    for (const uint64_t seq : session_.outstanding) {
      if (known.contains(seq)) continue;
      wire::Job job;
      job.seq = seq;
      job.fake = wire::FakePayload{};
      submit.jobs.push_back(job);
    }
    tracker_.session_message(*session_.connection, std::move(submit));
  } else if (const auto* results = std::get_if<wire::SessionResults>(&message)) {
    wire::SessionAck ack;
    for (const wire::JobResult& result : results->results) {
      HONE_ICHECK(result.session == good_session()) << "a result of another session";
      HONE_ICHECK(result.candidates.size() == 1) << result.candidates.size() << " candidates";
      HONE_ICHECK(result.candidates[0].status != wire::ResultStatus::kCancelled || result.attempts > 0)
          << "job " << result.seq << " was cancelled, and nobody asked for it";
      HONE_ICHECK(session_.outstanding.erase(result.seq) == 1) << "job " << result.seq << " ended twice";
      session_.done.insert(result.seq);
      ack.seqs.push_back(result.seq);
    }
    tracker_.session_message(*session_.connection, ack);
  } else {
    HONE_ICHECK(!std::holds_alternative<wire::Refused>(message))
        << "the good session was refused: " << std::get<wire::Refused>(message).reason;
  }
}

void World::check_bounds() const {
  const tracker::TrackerCounts counts = tracker_.counts();
  HONE_ICHECK(counts.blob_bytes <= tracker::MemoryPlan::of(options_.memory).blobs)
      << counts.blob_bytes << " bytes of blobs";
  HONE_ICHECK(counts.memory_used <= counts.memory_most) << counts.memory_used << " bytes of memory";
  const wire::FleetStatus status = tracker_.status();
  HONE_ICHECK(status.sessions.size() <= options_.max_sessions) << status.sessions.size() << " sessions";
  std::set<std::string> agents;
  size_t leased = 0;
  for (const wire::DeviceStatus& device : status.devices) agents.insert(device.agent), leased += device.leased;
  HONE_ICHECK(agents.size() <= options_.max_agents) << agents.size() << " agents";
  HONE_ICHECK(leased == counts.unfinished_leases)
      << leased << " leases counted by device, " << counts.unfinished_leases << " in force";
  uint64_t by_session = 0;
  for (const wire::SessionStatus& session : status.sessions) {
    by_session += session.leased;
    HONE_ICHECK(session.queued + session.leased <= options_.window)
        << "session " << session.title << " has more jobs than its window";
  }
  HONE_ICHECK(by_session == counts.unfinished_leases)
      << by_session << " leases counted by session, " << counts.unfinished_leases << " in force";
}

void World::finish() {
  for (int second = 0; second < 600 && !session_.outstanding.empty(); ++second) {
    (void)tracker_.admin("resume", "good");  // an operator, should the attacker have talked the tracker into distrust
    others_work();
    pass(1s);
    others_work();
  }
  HONE_ICHECK(session_.outstanding.empty()) << session_.outstanding.size() << " jobs of the good session never ended";
  HONE_ICHECK(session_.done.size() == kGoodJobs) << session_.done.size() << " of " << kGoodJobs << " jobs";
  check_bounds();
}

}  // namespace hone::fuzz
