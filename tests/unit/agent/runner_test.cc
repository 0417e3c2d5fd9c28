// The runner over a place whose candidates are the test's: which time counts in deadlines, and which locks it holds.
#include "rpc/agent/run/runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/fakes/temporary_folder.h"

namespace hone::agent {
namespace {

using wire::ResultStatus;

struct Script {
  std::function<void()> at_check = [] {}, at_time = [] {};
  double others_seconds = 0;
  bool uses_cores = false;
};

class ScriptedCandidate final : public RunningCandidate {
 public:
  explicit ScriptedCandidate(const Script& script) : script_(script) {}
  Answer<CheckReply> check(double) override {
    script_.at_check();
    return {.reply = {.first_call_seconds = 1e-3}, .failure = {}};
  }
  Answer<TimeReply> time(const TimeRequest&, double seconds) override {
    script_.at_time();
    if (seconds <= 0) return {.reply = {}, .failure = CandidateFailure{ResultStatus::kRunTimeout, "out of time"}};
    return {.reply = {.seconds = 1e-3, .calls = 1}, .failure = {}};
  }
  double others_seconds() const override { return script_.others_seconds; }

 private:
  const Script& script_;
};

class ScriptedPlace final : public CandidatePlace {
 public:
  explicit ScriptedPlace(const Script& script) : script_(script) {}
  StatusOr<std::unique_ptr<RunningCandidate>> start(const CandidateTask&) override {
    return std::make_unique<ScriptedCandidate>(script_);
  }
  bool uses_cores() const override { return script_.uses_cores; }
  uint64_t memory_bytes() const override { return 0; }

 private:
  const Script& script_;
};

class RunnerTest : public testing::Test {
 protected:
  wire::CandidateResult run() { return run_job().candidates.at(0); }
  RunReply run_job() {
    auto host = HostLock::open(host_path_), device = HostLock::open(device_path_);
    EXPECT_TRUE(host.ok() && device.ok());
    const SandboxProfile& profile = *sandbox_profile("llvm", SandboxRole::kCandidate);
    const Confinement confinement{FileRules(profile, ""), SyscallFilter::for_profile(profile),
                                  SyscallFilter::no_more_loading()};
    ScriptedPlace place(script_);
    RunnerOptions options;
    options.machine_cores = 2;
    options.cpu_account = account_;
    Runner runner(options, place, *host, &*device, confinement, -1);
    RunRequest r;
    r.candidates.resize(1);
    r.profile.run_timeout_s = run_timeout_s_;
    return runner.run(r);
  }
  // Whether another process could take the lock exclusively now.
  static bool is_free(const std::string& path) {
    auto lock = HostLock::open(path);
    return lock.ok() && lock->try_exclusive().held();
  }

  TemporaryFolder folder_;
  const std::string host_path_ = folder_.path() + "/host", device_path_ = folder_.path() + "/device";
  Script script_;
  double run_timeout_s_ = 0.3;
  std::function<std::optional<CpuAccount>()> account_;
};

TEST_F(RunnerTest, WhatOthersTookIsNotOfTheCandidatesDeadline) {
  script_.at_check = [] {
    // A driver starts; longer than the deadline.
    const Clock::TimePoint end = SteadyClock().now() + std::chrono::milliseconds(400);
    while (SteadyClock().now() < end) {
    }
  };
  EXPECT_EQ(run().status, ResultStatus::kRunTimeout);
  script_.others_seconds = 0.4;
  const wire::CandidateResult r = run();
  EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
}

// A single repeat cannot reveal a neighbour on another core, because all repeats are equally slow; the machine's
// account can.
TEST_F(RunnerTest, WhatOthersUsedBesideAllOfItDisturbs) {
  // A warm-up and three repeats, so that there are more than the 0.2 s that it takes to judge.
  script_.at_time = [] { std::this_thread::sleep_for(std::chrono::milliseconds(80)); };
  script_.uses_cores = true;
  run_timeout_s_ = 60;
  const Clock::TimePoint start = SteadyClock().now();
  double cores = 1;
  account_ = [&] { return CpuAccount{cores * std::chrono::duration<double>(SteadyClock().now() - start).count(), 0}; };
  RunReply reply = run_job();
  EXPECT_EQ(reply.candidates.at(0).status, ResultStatus::kOk);
  EXPECT_FALSE(reply.drifted);
  cores = 2;
  reply = run_job();
  EXPECT_TRUE(reply.drifted);
  EXPECT_EQ(reply.candidates.at(0).times.size(), 3u) << "they are the best that can be had";
  script_.uses_cores = false;  // a GPU: its host's builders go on
  EXPECT_FALSE(run_job().drifted);
}

TEST_F(RunnerTest, NobodyTimesOnADeviceWhileACandidateIsChecked) {
  bool free_at_check = true, free_at_time = true;
  script_.at_check = [&] { free_at_check = is_free(device_path_); };
  script_.at_time = [&] { free_at_time = is_free(device_path_); };
  EXPECT_EQ(run().status, ResultStatus::kOk);
  EXPECT_FALSE(free_at_check);
  EXPECT_FALSE(free_at_time);
  EXPECT_TRUE(is_free(device_path_));
}

}  // namespace
}  // namespace hone::agent
