// Random faults: agents die, vanish and come back, messages between different peers overtake each other, results are
// sent twice, sessions reconnect, the tracker restarts. Each job has exactly one result in the end.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;

/// An agent as AgentClient would be, in lock step with the simulation.
struct SimAgent {
  std::string name;
  wire::AgentHello hello;
  std::optional<ConnectionId> connection;
  bool welcome = false;
  std::map<wire::LeaseId, Clock::TimePoint> working;  // and when it will be done
  std::map<wire::LeaseId, wire::JobResult> results;
  Clock::TimePoint heartbeat{};
};

struct FaultsSimSession {
  wire::Uuid uuid = wire::Uuid::random();
  std::optional<ConnectionId> connection;
  uint64_t next_seq = 1, last_seq = 0;
  std::set<uint64_t> outstanding;
  std::map<uint64_t, int> delivered;
  std::multiset<uint64_t> on_this_connection;
};

class Simulation {
 public:
  Simulation(uint64_t seed, int agents, int sessions, uint64_t jobs, const Health::Limits& health)
      : random_(seed), fleet_({.lease = 5000ms, .agent_grace = 3000ms, .health = health}) {
    for (int i = 0; i < agents; ++i) {
      SimAgent agent;
      agent.name = "agent" + std::to_string(i);
      agent.hello = fleet_.hello(agent.name);
      agents_.push_back(agent);
    }
    for (int i = 0; i < sessions; ++i) {
      sessions_.emplace_back();
      sessions_.back().last_seq = jobs;
    }
  }

  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }

  void step(bool faults) {
    fleet_.clock.advance(std::chrono::milliseconds(random_() % 200));
    if (faults && chance(0.002)) restart_tracker();
    for (SimAgent& agent : agents_) step(agent, faults);
    for (FaultsSimSession& session : sessions_) step(session, faults);
    fleet_.tracker->tick();
  }

  bool done() const {
    for (const FaultsSimSession& session : sessions_)
      if (session.next_seq <= session.last_seq || !session.outstanding.empty()) return false;
    return true;
  }

  void check() const {
    for (const FaultsSimSession& session : sessions_) {
      EXPECT_EQ(session.delivered.size(), session.last_seq);
      for (const auto& [seq, count] : session.delivered) EXPECT_EQ(count, 1) << seq;
    }
    const auto status = fleet_.tracker->status();
    for (const auto& one : status.sessions) EXPECT_EQ(one.queued + one.leased, 0u);
    for (const auto& one : status.devices) EXPECT_EQ(one.leased, 0u);
    EXPECT_EQ(fleet_.tracker->counts().unfinished_leases, 0u);
  }

  int restarts = 0;
  uint64_t quarantines() const { return quarantines_ + fleet_.tracker->counts().quarantines; }

 private:
  void restart_tracker() {
    ++restarts;
    quarantines_ += fleet_.tracker->counts().quarantines;
    fleet_.restart();
    for (SimAgent& agent : agents_) agent.connection.reset(), agent.welcome = false;
    for (FaultsSimSession& session : sessions_) session.connection.reset();
  }

  void step(SimAgent& agent, bool faults) {
    if (!agent.connection) {
      if (chance(0.1)) connect(agent);
      return;
    }
    if (faults && chance(0.01)) {  // the process dies
      fleet_.tracker->agent_gone(*agent.connection);
      agent.connection.reset();
      agent.hello.instance = wire::Uuid::random();
      agent.working.clear();
      agent.results.clear();
      return;
    }
    if (faults && chance(0.01)) {  // the connection breaks, and what was on its way is lost
      fleet_.tracker->agent_gone(*agent.connection);
      agent.connection.reset();
      return;
    }
    if (chance(0.5)) return;  // messages of the others overtake this one's
    receive(agent);
    if (!agent.connection) return;
    const auto now = fleet_.clock.now();
    if (now - agent.heartbeat > 1s && (!faults || !chance(0.05))) {
      wire::Heartbeat beat;
      for (const auto& [id, until] : agent.working) beat.working.push_back(id);
      fleet_.tracker->agent_message(*agent.connection, beat);
      agent.heartbeat = now;
    }
    for (auto it = agent.working.begin(); it != agent.working.end();) {
      if (it->second > now) {
        ++it;
        continue;
      }
      auto result = FakeFleet::result(it->first, agent.name + "/cpu");
      if (faults && chance(0.03)) result.candidates[0].status = wire::ResultStatus::kDeviceLost;
      agent.results[it->first] = result;
      const int copies = faults && chance(0.1) ? 2 : 1;
      for (int i = 0; i < copies; ++i)
        fleet_.tracker->agent_message(*agent.connection, wire::AgentResults{{result}, {it->first}});
      it = agent.working.erase(it);
      fleet_.want(*agent.connection, agent.name, 1);
    }
  }

  void connect(SimAgent& agent) {
    agent.hello.held.clear();
    agent.hello.held_devices.clear();
    for (const auto& [id, until] : agent.working) agent.hello.held.push_back(id);
    for (const auto& [id, result] : agent.results) agent.hello.held.push_back(id);
    agent.hello.held_devices.assign(agent.hello.held.size(), agent.name + "/cpu");
    agent.connection = fleet_.connect(agent.hello);
    agent.welcome = false;
  }

  void receive(SimAgent& agent) {
    auto& inbox = fleet_.out.agents[*agent.connection];
    while (!inbox.empty()) {
      const wire::ToAgent message = std::move(inbox.front());
      inbox.pop_front();
      if (const auto* welcome = std::get_if<wire::AgentWelcome>(&message)) {
        forget(agent, welcome->forget);
        for (const auto& [id, result] : agent.results)
          fleet_.tracker->agent_message(*agent.connection, wire::AgentResults{{result}, {id}});
        const size_t room = 4 - std::min<size_t>(4, agent.working.size());
        if (room > 0) fleet_.want(*agent.connection, agent.name, static_cast<uint32_t>(room));
      } else if (const auto* leases = std::get_if<wire::Leases>(&message)) {
        for (const auto& lease : leases->leases)
          agent.working[lease.id] = fleet_.clock.now() + std::chrono::milliseconds(random_() % 2000);
      } else if (const auto* cancel = std::get_if<wire::Cancel>(&message)) {
        const size_t before = agent.working.size();
        forget(agent, cancel->leases);
        if (const auto freed = static_cast<uint32_t>(before - agent.working.size()))
          fleet_.want(*agent.connection, agent.name, freed);
      } else if (const auto* ack = std::get_if<wire::ResultAck>(&message)) {
        for (const auto& id : ack->leases) agent.results.erase(id);
      } else if (const auto* back = std::get_if<wire::TakeBack>(&message)) {
        std::vector<wire::LeaseId> unstarted;
        for (const auto& id : back->leases)
          if (chance(0.5) && agent.working.erase(id) > 0) unstarted.push_back(id);
        if (unstarted.empty()) continue;
        const auto freed = static_cast<uint32_t>(unstarted.size());
        fleet_.tracker->agent_message(*agent.connection, wire::GiveBack{std::move(unstarted), "asked"});
        fleet_.want(*agent.connection, agent.name, freed);
      } else if (std::holds_alternative<wire::Refused>(message)) {
        agent.connection.reset();
        return;
      }
    }
  }

  void forget(SimAgent& agent, const std::vector<wire::LeaseId>& ids) {
    for (const auto& id : ids) agent.working.erase(id), agent.results.erase(id);
  }

  void step(FaultsSimSession& session, bool faults) {
    if (!session.connection) {
      if (!chance(0.2)) return;
      session.connection = fleet_.open(session.uuid);
      session.on_this_connection.clear();
    }
    if (faults && chance(0.005)) {
      fleet_.tracker->session_gone(*session.connection);
      session.connection.reset();
      return;
    }
    auto& inbox = fleet_.out.sessions[*session.connection];
    while (!inbox.empty()) {
      const wire::ToSession message = std::move(inbox.front());
      inbox.pop_front();
      if (const auto* opened = std::get_if<wire::SessionOpened>(&message)) {
        const std::set<uint64_t> known(opened->known.begin(), opened->known.end());
        for (const uint64_t seq : session.outstanding)
          if (!known.contains(seq)) fleet_.submit(*session.connection, seq);
        for (const uint64_t seq : known)
          if (!session.outstanding.contains(seq))
            fleet_.tracker->session_message(*session.connection, wire::SessionAck{{seq}});
      } else if (const auto* results = std::get_if<wire::SessionResults>(&message)) {
        for (const auto& result : results->results) receive(session, result, faults);
      } else {
        ASSERT_FALSE(std::holds_alternative<wire::Refused>(message));
      }
    }
    while (session.next_seq <= session.last_seq && session.outstanding.size() < 24) {
      fleet_.submit(*session.connection, session.next_seq);
      session.outstanding.insert(session.next_seq++);
    }
  }

  void receive(FaultsSimSession& session, const wire::JobResult& result, bool faults) {
    session.on_this_connection.insert(result.seq);
    EXPECT_EQ(session.on_this_connection.count(result.seq), 1u) << "delivered twice on one connection: " << result.seq;
    if (session.outstanding.erase(result.seq) > 0) ++session.delivered[result.seq];
    if (faults && chance(0.02)) return;  // the acknowledgement is lost; it is made up for at the next connection
    fleet_.tracker->session_message(*session.connection, wire::SessionAck{{result.seq}});
  }

  std::mt19937_64 random_;
  uint64_t quarantines_ = 0;
  FakeFleet fleet_;
  std::vector<SimAgent> agents_;
  std::vector<FaultsSimSession> sessions_;
};

class Faults : public testing::TestWithParam<uint64_t> {};

TEST_P(Faults, EachJobHasExactlyOneResult) {
  Simulation simulation(GetParam(), 5, 2, 2500, {.strikes = 1'000'000});
  int steps = 0;
  while (!simulation.done() && steps < 200'000 && !HasFatalFailure()) simulation.step(/*faults=*/steps++ < 20'000);
  EXPECT_TRUE(simulation.done()) << "jobs are stuck after " << steps << " steps";
  for (int i = 0; i < 300; ++i) simulation.step(false);
  simulation.check();
  EXPECT_GT(simulation.restarts, 0);
}

// Devices that die so often are quarantined, and come back.
TEST_P(Faults, EachJobHasExactlyOneResultThoughDevicesAreQuarantined) {
  Simulation simulation(GetParam() + 100, 5, 2, 2000, {.strikes = 1, .most_wait = 60s});
  int steps = 0;
  while (!simulation.done() && steps < 200'000 && !HasFatalFailure()) simulation.step(/*faults=*/steps++ < 20'000);
  EXPECT_TRUE(simulation.done()) << "jobs are stuck after " << steps << " steps";
  for (int i = 0; i < 300; ++i) simulation.step(false);
  simulation.check();
  EXPECT_GT(simulation.quarantines(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Faults, testing::Range<uint64_t>(1, 11));

}  // namespace
}  // namespace hone::tracker
