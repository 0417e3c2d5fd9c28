// The agent's builders and runner with an OpenCL device: what candidates may do to it, and their results.
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "tests/gpu/agent/gpu_agent_fixture.h"

namespace hone::agent {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class GpuMeasureTest : public GpuAgentTest {
 protected:
  void SetUp() override {
    const DeviceList found = find("opencl");
    if (found.devices.empty()) GTEST_SKIP() << testing::PrintToString(found.skipped);
    open(found_ = found.devices[0]);
  }

  /// The process that the runner forked: it has the device open.
  std::vector<pid_t> device_processes() const {
    const std::string runner = std::to_string(measurer_->runner_pid());
    std::ifstream children("/proc/" + runner + "/task/" + runner + "/children");
    return {std::istream_iterator<pid_t>(children), {}};
  }
  void expect_good() {
    const wire::CandidateResult r = run_module({});
    EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
    EXPECT_FALSE(r.times.empty());
  }

  FoundDevice found_;
};

TEST_F(GpuMeasureTest, AGoodCandidateIsCheckedAndTimed) {
  const auto file = built(gpu_add_module());
  ASSERT_TRUE(file);
  const RunReply reply = run_all(request({file->module}));
  const wire::CandidateResult& r = reply.candidates.at(0);
  EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
  EXPECT_THAT(r.message, IsEmpty());
  ASSERT_GE(r.times.size(), 3U);
  for (const double t : r.times) EXPECT_GT(t, 0);
  EXPECT_FALSE(reply.drifted);
  EXPECT_GT(reply.reference_seconds, 0);
  EXPECT_EQ(run_all(request({file->module})).reference_seconds, 0) << "the reference is kept";
}

TEST_F(GpuMeasureTest, TheSameProcessServesManyCandidates) {
  expect_good();
  const std::vector<pid_t> before = device_processes();
  ASSERT_EQ(before.size(), 1U);
  for (int i = 0; i < 3; ++i) expect_good();
  EXPECT_EQ(run_module({.wrong_tail = 1}).status, ResultStatus::kWrongResult);
  EXPECT_EQ(device_processes(), before);
}

TEST_F(GpuMeasureTest, WrongElementsAreNamed) {
  const wire::CandidateResult r = run_module({.wrong_tail = 0.5});
  EXPECT_EQ(r.status, ResultStatus::kWrongResult);
  EXPECT_THAT(r.message, HasSubstr("999"));
  EXPECT_THAT(r.times, IsEmpty());
}

TEST_F(GpuMeasureTest, EveryElementMustBeWritten) {
  const wire::CandidateResult r = run_module({.written = kElements - 1});
  EXPECT_EQ(r.status, ResultStatus::kWrongResult);
  EXPECT_THAT(r.message, HasSubstr("output element 999 of 'C' was never written"));
}

TEST_F(GpuMeasureTest, ACandidateGivesTheSameWheneverItRuns) {
  const wire::CandidateResult r = run_module({.forgets = true});
  EXPECT_EQ(r.status, ResultStatus::kWrongResult);
  EXPECT_THAT(r.message, HasSubstr("'C' is not the same when the kernel runs again"));
}

TEST_F(GpuMeasureTest, WhatCannotBeProvedIsNotBuilt) {
  const BuildOutcome out = build(gpu_add_module({.crooked = true}));
  EXPECT_EQ(out.status, ResultStatus::kRejected);
  EXPECT_THAT(out.message, HasSubstr("cannot be proved"));
}

TEST_F(GpuMeasureTest, AProgramWithoutBlocksIsOneThreads) {
  const auto file = built(add_module());
  ASSERT_TRUE(file);
  const wire::CandidateResult r = run(file->module);
  EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
}

TEST_F(GpuMeasureTest, WhatRunsForEverEndsAtItsDeadlineAndCostsTheProcessOnly) {
  const auto forever = built(gpu_add_module({.spin = int64_t{1} << 30}));
  ASSERT_TRUE(forever);
  expect_good();
  const pid_t runner = measurer_->runner_pid();
  RunRequest r = request({forever->module});
  r.profile.run_timeout_s = 2;
  const wire::CandidateResult result = run_all(r).candidates.at(0);
  EXPECT_EQ(result.status, ResultStatus::kRunTimeout);
  EXPECT_THAT(result.message, HasSubstr("the kernel was still running after"));
  expect_good();
  EXPECT_EQ(measurer_->runner_pid(), runner);
}

TEST_F(GpuMeasureTest, AKilledProcessIsReplacedAndNobodyBlamed) {
  expect_good();
  for (const pid_t pid : device_processes()) kill(pid, SIGKILL);
  expect_good();
}

TEST_F(GpuMeasureTest, ADriverThatIsGoneIsNoCandidatesFault) {
  if (!found_.on_host) GTEST_SKIP() << "other loaders do not follow OCL_ICD_VENDORS";
  const auto file = built(gpu_add_module());
  ASSERT_TRUE(file);
  setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
  kill(measurer_->runner_pid(), SIGKILL);
  const wire::CandidateResult r = run(file->module);
  unsetenv("OCL_ICD_VENDORS");
  EXPECT_EQ(r.status, ResultStatus::kDeviceLost);
  EXPECT_THAT(r.message, HasSubstr("opencl0 cannot be opened"));
  expect_good();
}

TEST_F(GpuMeasureTest, ARunThatIsCancelledEndsSoon) {
  const auto forever = built(gpu_add_module({.spin = int64_t{1} << 30}));
  ASSERT_TRUE(forever);
  expect_good();
  std::optional<RunReply> reply;
  asio::co_spawn(io_, measurer_->run(request({forever->module})),
                 [&](std::exception_ptr, RunReply r) { reply = std::move(r); });
  asio::steady_timer timer(io_, std::chrono::milliseconds(300));
  timer.async_wait([&](boost::system::error_code) { measurer_->cancel_run(); });
  io_.restart();
  while (!reply && io_.run_one() > 0) {
  }
  EXPECT_EQ(reply->candidates.at(0).status, ResultStatus::kCancelled);
  expect_good();
}

// For drivers that want more than the table gives them.
TEST_F(GpuMeasureTest, TheSandboxOfAGpusProcessesCanBeLeftOut) {
  const std::vector<std::string> before = info_.missing;
  const auto missing_of = [&] {
    open(found_);
    expect_good();
    return info_.missing;
  };
  setenv("HONE_GPU_SANDBOX", "off", 1);
  EXPECT_THAT(missing_of(), testing::IsSupersetOf({"landlock", "seccomp"}));
  setenv("HONE_GPU_SANDBOX", "on", 1);
  EXPECT_EQ(missing_of(), before) << "as it is without the variable";
  unsetenv("HONE_GPU_SANDBOX");
}

TEST_F(GpuMeasureTest, FinalistsAreTimedInTurnAndABadOneCostsTheOthersNothing) {
  const auto good = built(gpu_add_module()), wrong = built(gpu_add_module({.wrong_tail = 1}));
  ASSERT_TRUE(good && wrong);
  RunRequest r = request({good->module, wrong->module, good->module});
  const RunReply reply = run_all(r);
  EXPECT_EQ(reply.candidates.at(0).status, ResultStatus::kOk) << reply.candidates[0].message;
  EXPECT_EQ(reply.candidates.at(1).status, ResultStatus::kWrongResult);
  EXPECT_EQ(reply.candidates.at(2).status, ResultStatus::kOk) << reply.candidates[2].message;
  EXPECT_EQ(reply.candidates[0].times.size(), reply.candidates[2].times.size());
}

}  // namespace
}  // namespace hone::agent
