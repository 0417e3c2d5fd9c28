// Sessions share a simulated fleet through the real Tracker: who gets how many device seconds, and whether anybody or
// anything waits that need not.
#include <gtest/gtest.h>

#include <queue>
#include <random>
#include <set>

#include "tests/fakes/fake_fleet.h"

namespace hone::tracker {
namespace {

using namespace std::chrono_literals;

double seconds(Clock::Duration d) { return std::chrono::duration<double>(d).count(); }
Clock::Duration duration(double s) {
  return std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(s));
}

struct SimDevice {
  double speed = 1;
  std::map<std::string, std::string> labels;
  ConnectionId connection = 0;
  std::string name;
  std::deque<wire::Lease> store;  // the front is being worked on
  Clock::TimePoint done_at{};
  double busy = 0;
};

struct SimSession {
  double weight = 1;
  double mean_seconds = 1;  // of a job on a device of speed 1
  uint32_t outstanding = 64;
  std::vector<std::string> labels;
  int32_t priority = 0;
  wire::Uuid uuid = wire::Uuid::random();
  ConnectionId connection = 0;
  uint64_t next_seq = 1;
  double used = 0;
  Clock::TimePoint served{};
  double longest_gap = 0;  // between two answers
};

/// Devices work off their stores of leases one by one, in fake time; answers take a while to arrive.
class FairShareWorld {
 public:
  FairShareWorld(uint64_t seed, uint32_t batch, double late_s)
      : random_(seed), batch_(batch), late_s_(late_s), fleet_({.health = {.strikes = 1000}}) {}

  void add(SimDevice device) {
    device.name = "d" + std::to_string(devices_.size());
    auto hello = fleet_.hello(device.name);
    hello.devices[0].labels = device.labels;
    device.connection = fleet_.connect(hello);
    devices_.push_back(device);
  }
  SimSession& add(SimSession session) {
    wire::SessionOpen open;
    open.session = session.uuid;
    open.target_kind = "llvm";
    open.weight = session.weight;
    open.labels = session.labels;
    open.priority = session.priority;
    session.connection = fleet_.open_as(open);
    session.served = fleet_.clock.now();
    sessions_.push_back(session);
    return sessions_.back();
  }

  void start() {
    for (SimSession& session : sessions_) submit(session, session.outstanding);
    for (SimDevice& device : devices_) fleet_.want(device.connection, device.name, batch_);
    for (SimDevice& device : devices_) take(device);
  }

  void run(double for_s) {
    const auto until = fleet_.clock.now() + duration(for_s);
    auto tick = fleet_.clock.now() + 250ms;
    while (true) {
      auto next = std::min(until, tick);
      for (const SimDevice& device : devices_)
        if (!device.store.empty()) next = std::min(next, device.done_at);
      if (!answers_.empty()) next = std::min(next, answers_.top().at);
      fleet_.clock.advance(next - fleet_.clock.now());
      if (next == until) return;
      if (next == tick) {
        for (SimDevice& device : devices_) beat(device);
        fleet_.tracker->tick();
        tick += 250ms;
      }
      while (!answers_.empty() && answers_.top().at <= next) {
        const Answer answer = answers_.top();
        answers_.pop();
        deliver(answer);
      }
      for (SimDevice& device : devices_)
        if (!device.store.empty() && device.done_at <= next) finish(device);
    }
  }

  std::vector<SimSession>& sessions() { return sessions_; }
  std::vector<SimDevice>& devices() { return devices_; }
  FakeFleet& fleet() { return fleet_; }
  void forget_use() {
    for (SimSession& session : sessions_) session.used = session.longest_gap = 0;
  }

 private:
  struct Answer {
    Clock::TimePoint at;
    size_t device;
    wire::Lease lease;
    double cost;
    bool operator<(const Answer& other) const { return at > other.at; }
  };

  double uniform(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }
  SimSession& session_of(const wire::Uuid& uuid) {
    for (SimSession& session : sessions_)
      if (session.uuid == uuid) return session;
    throw std::logic_error("no such session");
  }

  void submit(SimSession& session, uint64_t count) {
    fleet_.submit(session.connection, session.next_seq, count);
    session.next_seq += count;
  }

  void beat(SimDevice& device) {
    wire::Heartbeat beat;
    for (const wire::Lease& lease : device.store) beat.working.push_back(lease.id);
    fleet_.tracker->agent_message(device.connection, beat);
    fleet_.ids<wire::ResultAck>(device.connection);
  }

  void take(SimDevice& device) {
    const auto asked = fleet_.ids<wire::TakeBack>(device.connection);
    for (wire::Lease& lease : fleet_.leases(device.connection)) {
      device.store.push_back(std::move(lease));
      if (device.store.size() == 1) begin(device);
    }
    std::vector<wire::LeaseId> back;
    for (size_t i = 1; i < device.store.size();) {
      if (std::find(asked.begin(), asked.end(), device.store[i].id) == asked.end()) {
        ++i;
        continue;
      }
      back.push_back(device.store[i].id);
      device.store.erase(device.store.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (back.empty()) return;
    const auto count = static_cast<uint32_t>(back.size());
    fleet_.tracker->agent_message(device.connection, wire::GiveBack{std::move(back), "asked"});
    fleet_.want(device.connection, device.name, count);
  }

  void begin(SimDevice& device) {
    SimSession& session = session_of(device.store.front().id.session);
    const double cost = session.mean_seconds / device.speed * uniform(0.5, 1.5);
    device.busy += cost;
    device.done_at = fleet_.clock.now() + duration(cost);
    costs_[device.store.front().id] = cost;
  }

  void finish(SimDevice& device) {
    const wire::Lease lease = device.store.front();
    device.store.pop_front();
    const double cost = costs_.extract(lease.id).mapped();
    session_of(lease.id.session).used += cost;
    answers_.push({fleet_.clock.now() + duration(uniform(0, late_s_)), static_cast<size_t>(&device - devices_.data()),
                   lease, cost});
    if (!device.store.empty()) begin(device);
  }

  void deliver(const Answer& answer) {
    SimDevice& device = devices_[answer.device];
    fleet_.finish(device.connection, answer.lease, wire::ResultStatus::kOk, answer.cost);
    fleet_.want(device.connection, device.name, 1);
    SimSession& session = session_of(answer.lease.id.session);
    fleet_.results(session.connection);
    session.longest_gap = std::max(session.longest_gap, seconds(fleet_.clock.now() - session.served));
    session.served = fleet_.clock.now();
    fleet_.tracker->session_message(session.connection, wire::SessionAck{{answer.lease.id.seq}});
    submit(session, 1);
    for (SimDevice& one : devices_) take(one);
  }

  std::mt19937_64 random_;
  const uint32_t batch_;
  const double late_s_;
  FakeFleet fleet_;
  std::vector<SimDevice> devices_;
  std::vector<SimSession> sessions_;
  std::priority_queue<Answer> answers_;
  std::map<wire::LeaseId, double> costs_;
};

/// Weighted max-min: device seconds a second for each session, when session s may use device d where `serves[s][d]`.
std::vector<double> fair_rates(const std::vector<double>& weights, const std::vector<std::vector<bool>>& serves) {
  const size_t n = weights.size(), devices = serves[0].size();
  // The session with the lowest share takes a grain of a device, pushing others over to devices with grains left where
  // it must (an augmenting path); a session that cannot take one any more has all it can get.
  constexpr int kGrains = 400;  // of a device's second
  std::vector<std::vector<int>> flow(n, std::vector<int>(devices, 0));
  std::vector<int> left(devices, kGrains), have(n, 0);
  std::vector<bool> stuck(n, false);
  const auto augment = [&](size_t from) {
    // Session that reached it, and the device it would leave.
    std::vector<std::pair<int, int>> reached_by(devices, {-1, -1});
    std::deque<size_t> open;
    std::vector<bool> seen(n, false);
    const auto expand = [&](size_t s, int leaving) {
      seen[s] = true;
      for (size_t d = 0; d < devices; ++d)
        if (serves[s][d] && reached_by[d].first < 0 && static_cast<int>(d) != leaving)
          reached_by[d] = {static_cast<int>(s), leaving}, open.push_back(d);
    };
    expand(from, -1);
    while (!open.empty()) {
      size_t d = open.front();
      open.pop_front();
      if (left[d] > 0) {
        --left[d];
        while (true) {
          const auto [s, leaving] = reached_by[d];
          ++flow[static_cast<size_t>(s)][d];
          if (leaving < 0) return true;
          --flow[static_cast<size_t>(s)][static_cast<size_t>(leaving)];
          d = static_cast<size_t>(leaving);
        }
      }
      for (size_t s = 0; s < n; ++s)
        if (!seen[s] && flow[s][d] > 0) expand(s, static_cast<int>(d));
    }
    return false;
  };
  while (true) {
    size_t lowest = n;
    for (size_t s = 0; s < n; ++s)
      if (!stuck[s] && (lowest == n || have[s] / weights[s] < have[lowest] / weights[lowest])) lowest = s;
    if (lowest == n) break;
    if (augment(lowest))
      ++have[lowest];
    else
      stuck[lowest] = true;
  }
  std::vector<double> out;
  for (const int grains : have) out.push_back(static_cast<double>(grains) / kGrains);
  return out;
}

void expect_shares(FairShareWorld& world, const std::vector<double>& due, double tolerance) {
  double used = 0, all = 0;
  for (const SimSession& session : world.sessions()) used += session.used;
  for (const double rate : due) all += rate;
  for (size_t i = 0; i < due.size(); ++i) {
    const double share = world.sessions()[i].used / used, fair = due[i] / all;
    EXPECT_NEAR(share / fair, 1, tolerance) << "session " << i << " had " << share << " of " << fair;
  }
}

std::vector<double> weights_of(FairShareWorld& world) {
  std::vector<double> weights;
  for (const SimSession& session : world.sessions()) weights.push_back(session.weight);
  return weights;
}

class FairShare : public testing::TestWithParam<uint64_t> {};

TEST_P(FairShare, EightSessionsGetTheirSharesOfDevicesOfDifferentSpeed) {
  for (const uint32_t batch : {1u, 16u}) {
    FairShareWorld world(GetParam(), batch, 0.2);
    for (const double speed : {1., 1., 2., 3., 5., 8.}) world.add(SimDevice{.speed = speed});
    const double weights[] = {1, 2, 3, 4, 1, 2, 3, 1}, costs[] = {0.4, 0.2, 0.8, 0.4, 1.6, 0.4, 0.2, 2};
    for (int i = 0; i < 8; ++i)
      world.add(SimSession{.weight = weights[i], .mean_seconds = costs[i], .outstanding = 120});
    world.sessions()[7].outstanding = 256;  // floods: always all that its window holds
    world.start();
    world.run(100);
    world.forget_use();
    world.run(900);
    expect_shares(world, weights_of(world), 0.05);
  }
}

TEST_P(FairShare, HoldsWhenSessionsAreServedByDifferentDevices) {
  FairShareWorld world(GetParam(), 16, 0.2);
  std::mt19937_64 random(GetParam() + 100);
  const char* groups[] = {"a", "b", "c"};
  for (int i = 0; i < 9; ++i) {
    SimDevice device{.speed = 1 + static_cast<double>(random() % 8)};
    device.labels["group"] = groups[i % 3];
    device.labels["parity"] = i % 2 ? "odd" : "even";
    world.add(device);
  }
  const std::vector<std::vector<std::string>> labels = {
      {}, {"group=a"}, {"group=b"}, {"parity=odd"}, {"parity=even"}, {"group=a", "parity=odd"}, {"group=c"}, {}};
  for (size_t i = 0; i < labels.size(); ++i)
    world.add(SimSession{.weight = 1 + static_cast<double>(random() % 4),
                         .mean_seconds = 0.3 * static_cast<double>(1 + random() % 8),
                         .outstanding = 250,
                         .labels = labels[i]});
  std::vector<std::vector<bool>> serves;
  for (const auto& wanted : labels) {
    std::vector<bool> row;
    for (const SimDevice& device : world.devices()) {
      bool ok = true;
      for (const std::string& label : wanted)
        ok = ok && device.labels.at(label.substr(0, label.find('='))) == label.substr(label.find('=') + 1);
      row.push_back(ok);
    }
    serves.push_back(row);
  }
  world.start();
  world.run(500);
  world.forget_use();
  world.run(1500);
  expect_shares(world, fair_rates(weights_of(world), serves), 0.05);
}

TEST_P(FairShare, NobodyStarvesUnderAHigherPriority) {
  FairShareWorld world(GetParam(), 16, 0.1);
  for (const double speed : {1., 2., 4.}) world.add(SimDevice{.speed = speed});
  world.add(SimSession{.weight = 1, .mean_seconds = 0.5, .outstanding = 256, .priority = 5});
  world.add(SimSession{.weight = 1, .mean_seconds = 1, .outstanding = 100});
  world.add(SimSession{.weight = 3, .mean_seconds = 0.2, .outstanding = 100});
  world.start();
  world.run(100);
  world.forget_use();
  world.run(2000);
  double used = 0;
  for (const SimSession& session : world.sessions()) used += session.used;
  EXPECT_NEAR(world.sessions()[0].used / used, 15. / 16, 0.01);
  EXPECT_NEAR(world.sessions()[1].used / used, 1. / 64, 0.004);
  EXPECT_NEAR(world.sessions()[2].used / used, 3. / 64, 0.006);
}

TEST_P(FairShare, ASessionThatLosesItsOwnDevicesIsNotLeftToWait) {
  FairShareWorld world(GetParam(), 4, 0.1);
  for (int i = 0; i < 20; ++i) world.add(SimDevice{.labels = {{"kind", "board"}}});
  world.add(SimDevice{.labels = {{"kind", "server"}}});
  world.add(SimSession{.mean_seconds = 0.5, .outstanding = 200});
  world.add(SimSession{.mean_seconds = 0.5, .outstanding = 50, .labels = {"kind=server"}});
  world.start();
  world.run(600);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(world.fleet().tracker->admin("drain", "d" + std::to_string(i)).ok());
  world.run(30);
  world.forget_use();
  world.run(300);
  expect_shares(world, {1, 1}, 0.05);
  for (const SimSession& session : world.sessions()) EXPECT_LT(session.longest_gap, 20) << "jobs of half a second";
}

INSTANTIATE_TEST_SUITE_P(Seeds, FairShare, testing::Range<uint64_t>(1, 4));

// Random fleets, sessions and events: after each message no device wants a lease while a job that it may have is
// queued.
TEST(Dispatch, AnIdleDeviceNeverWaitsWhileAMatchingJobExists) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<uint64_t>(n)); };
    FakeFleet fleet({.window = 64, .health = {.strikes = 1000, .failures = 1000}});
    struct One {
      wire::DeviceInfo info;
      ConnectionId connection;
      uint32_t credits = 0;
      std::vector<wire::Lease> held;
    };
    struct Other {
      wire::SessionOpen open;
      ConnectionId connection;
      uint64_t next = 1;
      std::set<uint64_t> waiting;
    };
    std::vector<One> devices;
    std::vector<Other> sessions;
    const auto collect = [&] {
      for (One& device : devices)
        for (wire::Lease& lease : fleet.leases(device.connection)) {
          for (Other& session : sessions) {
            if (session.open.session == lease.id.session) {
              EXPECT_EQ(session.waiting.erase(lease.id.seq), 1u);
            }
          }
          ASSERT_GT(device.credits, 0u);
          --device.credits;
          device.held.push_back(std::move(lease));
        }
    };
    for (int step = 0; step < 600; ++step) {
      switch (pick(7)) {
        case 0: {
          if (devices.size() > 12) break;
          const std::string name = "d" + std::to_string(devices.size());
          auto hello = fleet.hello(name);
          hello.devices[0].target = pick(2) ? "llvm -mcpu=a" : "cuda -arch=b";
          hello.devices[0].labels["room"] = std::to_string(pick(3));
          devices.push_back({hello.devices[0], fleet.connect(hello), 0, {}});
          break;
        }
        case 1: {
          if (sessions.size() > 8) break;
          Other session;
          session.open.session = wire::Uuid::random();
          session.open.target_kind = pick(3) ? "llvm" : "cuda";
          session.open.priority = pick(2);
          session.open.weight = 1 + pick(4);
          if (pick(2)) session.open.labels = {"room=" + std::to_string(pick(3))};
          if (pick(6) == 0) session.open.device_key = "d" + std::to_string(pick(12)) + "/cpu";
          session.connection = fleet.open_as(session.open);
          sessions.push_back(session);
          break;
        }
        case 2:
        case 3: {
          if (sessions.empty()) break;
          Other& session = sessions[random() % sessions.size()];
          if (session.next > 60) break;
          session.waiting.insert(session.next);
          fleet.submit(session.connection, session.next++);
          break;
        }
        case 4: {
          if (devices.empty()) break;
          One& device = devices[random() % devices.size()];
          const auto slots = static_cast<uint32_t>(1 + pick(3));
          device.credits += slots;
          fleet.tracker->agent_message(device.connection, wire::Want{device.info.key, slots});
          break;
        }
        case 5: {
          if (devices.empty()) break;
          One& device = devices[random() % devices.size()];
          if (device.held.empty()) break;
          const wire::Lease lease = device.held.back();
          device.held.pop_back();
          fleet.finish(device.connection, lease);
          break;
        }
        case 6: {
          if (devices.empty()) break;
          One& device = devices[random() % devices.size()];
          if (device.held.empty()) break;
          const wire::LeaseId id = device.held.back().id;
          device.held.pop_back();
          for (Other& session : sessions)
            if (session.open.session == id.session) session.waiting.insert(id.seq);
          fleet.tracker->agent_message(device.connection, wire::GiveBack{{id}, "test"});
          break;
        }
      }
      collect();
      for (const One& device : devices) {
        if (device.credits == 0) continue;
        Device view;
        view.info = device.info;
        view.agent = device.info.key.substr(0, device.info.key.find('/'));
        for (const Other& session : sessions)
          ASSERT_FALSE(!session.waiting.empty() && matches(session.open, view))
              << "seed " << seed << " step " << step << ": " << device.info.key;
      }
    }
  }
}

}  // namespace
}  // namespace hone::tracker
