// The remote measurer against a real tracker on a Unix socket and an agent that answers without measuring.
#include "tuner/measure/remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <set>

#include "base/exit_code.h"
#include "rpc/wire/agent_client.h"
#include "tracker/service.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

constexpr char kTarget[] = "llvm -mtriple=x86_64-linux -mcpu=znver5 -threads=2";

class Fleet {
 public:
  Fleet() {
    dir_ = "/tmp/hone-remote-test-XXXXXX";
    if (!mkdtemp(dir_.data())) throw std::runtime_error("mkdtemp");
    address_.path = dir_ + "/sock";
    start_tracker();
  }
  ~Fleet() {
    agent_.reset();
    tracker_->stop();
    std::filesystem::remove_all(dir_);
  }
  void start_tracker() { tracker_ = *tracker::TrackerServer::start(address_, {}, clock_); }
  void restart_tracker() {
    tracker_->stop();
    tracker_.reset();
    start_tracker();
  }
  // An agent that wants every blob of a job and answers with 1 ms for each module.
  void start_agent(const std::string& name) {
    wire::AgentIdentity who;
    who.name = name;
    wire::DeviceInfo cpu;
    cpu.key = name + "/cpu", cpu.target = kTarget, cpu.model = "Test CPU";
    who.devices = {cpu};
    wire::AgentHandlers handlers;
    handlers.on_leases = [this](std::vector<wire::Lease> leases) {
      for (const wire::Lease& l : leases) {
        std::vector<Hash128> wanted = l.job.modules;
        if (l.job.reference) wanted.push_back(l.job.reference->module_hash);
        std::set<Hash128> remaining(wanted.begin(), wanted.end());
        agent_->request_blobs(
            wanted, [this, l, remaining](std::vector<wire::Blob> found, std::vector<Hash128> missing) mutable {
              {
                const std::lock_guard lock(mutex_);
                for (const wire::Blob& b : found) blobs_.insert(b.data), remaining.erase(b.hash);
              }
              if (missing.empty() && !remaining.empty()) return;
              wire::JobResult r;
              for (size_t i = 0; i < l.job.candidates(); ++i) {
                wire::CandidateResult c;
                c.status = missing.empty() ? wire::ResultStatus::kOk : wire::ResultStatus::kRunFailed;
                c.times = {1e-3};
                r.candidates.push_back(c);
              }
              r.device = l.device;
              agent_->result(l.id, r);
              agent_->want(l.device, 1);
            });
      }
    };
    agent_ = std::make_unique<wire::AgentClient>(client_options(), who, handlers);
    agent_->want(name + "/cpu", 8);
  }
  wire::ClientOptions client_options() const {
    wire::ClientOptions o;
    o.tracker = address_;
    o.backoff.first = 10ms;
    return o;
  }
  /// The messages sent to the agent.
  std::set<std::string> blobs() const {
    const std::lock_guard lock(mutex_);
    return blobs_;
  }

 private:
  mutable std::mutex mutex_;
  std::set<std::string> blobs_;
  SteadyClock clock_;
  std::string dir_;
  wire::Address address_;
  std::unique_ptr<tracker::TrackerServer> tracker_;
  std::unique_ptr<wire::AgentClient> agent_;
};

RemoteOptions options_for(const Fleet& fleet) {
  RemoteOptions o;
  o.client = fleet.client_options();
  o.open.session = wire::Uuid::random();
  o.open.title = "test";
  o.open.target_kind = "llvm";
  o.open.target = kTarget;
  // A module is known by its number of workers here.
  o.encode = [](const Module& m) { return "module " + std::to_string(m.workers); };
  ReferenceJob reference;
  reference.module = "the reference";
  o.references = {reference};
  return o;
}

std::shared_ptr<const Candidate> candidate(int number) {
  auto c = std::make_shared<Candidate>();
  c->module.workers = number;
  return c;
}

// All results of `count` jobs, or those that came within half a minute.
std::vector<wire::JobResult> collect(RemoteMeasurer& m, size_t count) {
  std::vector<wire::JobResult> all;
  for (int i = 0; i < 300 && all.size() < count; ++i) {
    auto some = m.collect(100ms);
    EXPECT_TRUE(some.ok()) << some.status();
    if (!some.ok()) break;
    for (auto& r : *some) all.push_back(std::move(r));
  }
  EXPECT_EQ(all.size(), count);
  return all;
}

TEST(RemoteMeasurer, MeasuresOnTheFleet) {
  Fleet fleet;
  fleet.start_agent("a");
  RemoteMeasurer m(options_for(fleet));
  ASSERT_TRUE(m.wait_open(20s).ok());
  std::vector<MeasureJob> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back({static_cast<uint64_t>(i), {candidate(i)}, {}});
  jobs.push_back({20, {candidate(1), candidate(2)}, {}});
  m.submit(jobs);
  const auto results = collect(m, 21);
  for (const wire::JobResult& r : results) {
    EXPECT_EQ(r.candidates.size(), r.seq == 20 ? 2u : 1u);
    for (const auto& c : r.candidates) EXPECT_EQ(c.status, wire::ResultStatus::kOk) << "every blob was there";
    EXPECT_EQ(r.device, "a/cpu");
    m.ack({r.seq});
  }
  EXPECT_EQ(fleet.blobs().count("the reference"), 1u);
  EXPECT_EQ(fleet.blobs().count("module 19"), 1u);
  ASSERT_TRUE(m.device("a/cpu"));
  EXPECT_EQ(m.device("a/cpu")->model, "Test CPU");
  EXPECT_EQ(m.trouble(), "");
}

TEST(RemoteMeasurer, EachTaskHasItsReference) {
  Fleet fleet;
  fleet.start_agent("a");
  RemoteOptions o = options_for(fleet);
  o.references.push_back({"another reference", {}});
  RemoteMeasurer m(std::move(o));
  ASSERT_TRUE(m.wait_open(20s).ok());
  m.submit({{0, {candidate(1)}, {}, 1}});
  collect(m, 1);
  EXPECT_EQ(fleet.blobs(), (std::set<std::string>{"another reference", "module 1"}));
}

TEST(RemoteMeasurer, SendsWhatCameEncoded) {
  Fleet fleet;
  fleet.start_agent("a");
  RemoteMeasurer m(options_for(fleet));
  ASSERT_TRUE(m.wait_open(20s).ok());
  auto c = std::make_shared<Candidate>();
  c->encoded = "made beforehand";
  m.submit({{0, {c}, {}}});
  collect(m, 1);
  EXPECT_EQ(fleet.blobs().count("made beforehand"), 1u);
}

TEST(RemoteMeasurer, WakingEndsAWait) {
  Fleet fleet;  // no agent: nothing would come
  RemoteMeasurer m(options_for(fleet));
  ASSERT_TRUE(m.wait_open(20s).ok());
  m.wake();
  EXPECT_TRUE(m.collect(std::chrono::hours(1))->empty()) << "woken before it waited";
  std::thread waker([&] {
    std::this_thread::sleep_for(20ms);  // most probably it waits by then
    m.wake();
  });
  EXPECT_TRUE(m.collect(std::chrono::hours(1))->empty()) << "woken while it waited";
  waker.join();
}

TEST(RemoteMeasurer, ARestartOfTheTrackerLosesNothing) {
  Fleet fleet;
  fleet.start_agent("a");
  RemoteMeasurer m(options_for(fleet));
  ASSERT_TRUE(m.wait_open(20s).ok());
  std::vector<MeasureJob> jobs;
  for (int i = 0; i < 40; ++i) jobs.push_back({static_cast<uint64_t>(i), {candidate(i)}, {}});
  m.submit(jobs);
  fleet.restart_tracker();
  std::set<uint64_t> seqs;
  for (const wire::JobResult& r : collect(m, 40))
    EXPECT_TRUE(seqs.insert(r.seq).second) << "result " << r.seq << " came twice";
}

TEST(RemoteMeasurer, CancelledJobsComeBackOrStayAway) {
  Fleet fleet;  // no agent: nothing runs
  RemoteMeasurer m(options_for(fleet));
  ASSERT_TRUE(m.wait_open(20s).ok());
  m.submit({{0, {candidate(1)}, {}}, {1, {candidate(2)}, {}}});
  m.cancel_all();
  for (const wire::JobResult& r : collect(m, 2)) EXPECT_EQ(r.candidates[0].status, wire::ResultStatus::kCancelled);
}

TEST(RemoteMeasurer, ItsWatchEndsTheSession) {
  Fleet fleet;
  RemoteOptions o = options_for(fleet);
  o.watch = [] { return absl::InternalError("the agent died"); };
  RemoteMeasurer m(std::move(o));
  EXPECT_EQ(message_of(m.collect(1ms).status()), "the agent died");
}

TEST(FindDevices, FindsThoseOfAKindAndKey) {
  Fleet fleet;
  fleet.start_agent("a");
  DeviceQuery q;
  q.client = fleet.client_options();
  q.kind = "llvm";
  q.device_timeout = 20s;
  auto devices = find_devices(q);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].target, kTarget);
  q.device_timeout = 200ms;
  q.device_key = "b";
  devices = find_devices(q);
  EXPECT_EQ(exit_code_of(devices.status()), kExitNoDevice);
  EXPECT_NE(message_of(devices.status()).find("no device serves 'llvm' under the key 'b'"), std::string::npos)
      << devices.status();
  EXPECT_NE(message_of(devices.status()).find("no device, agent or label is called 'b'; there are: a/cpu"),
            std::string::npos)
      << devices.status();
  q.device_key = "", q.kind = "cuda";
  devices = find_devices(q);
  EXPECT_NE(message_of(devices.status()).find(std::string(": a/cpu (target '") + kTarget + "') is idle"),
            std::string::npos)
      << devices.status();
  q.device_key = "";
  q.kind = "cuda";
  EXPECT_EQ(exit_code_of(find_devices(q).status()), kExitNoDevice);
}

TEST(FindDevices, NoTrackerIsOneClearLine) {
  DeviceQuery q;
  q.client.tracker = *wire::Address::parse("unix:/tmp/hone-no-such-socket");
  q.kind = "llvm";
  q.tracker_timeout = 200ms;
  const auto devices = find_devices(q);
  EXPECT_EQ(exit_code_of(devices.status()), kExitUsage);
  EXPECT_THAT(message_of(devices.status()),
              testing::StartsWith("cannot reach the tracker at unix:/tmp/hone-no-such-socket: "));
}

// gRPC 1.51 aborts the process after a few dozen channels that failed, unless rpc/wire keeps its threads.
TEST(FindDevices, ManyFailedAttemptsAreStillOneClearLine) {
  for (int round = 0; round < 3; ++round) {
    DeviceQuery q;
    q.client.tracker = *wire::Address::parse("localhost:1");
    q.client.backoff.first = q.client.backoff.most = 1ms;
    q.kind = "llvm";
    q.tracker_timeout = 300ms;
    EXPECT_THAT(message_of(find_devices(q).status()), testing::StartsWith("cannot reach the tracker at localhost:1: "));
  }
}

}  // namespace
}  // namespace hone
