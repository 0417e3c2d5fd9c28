// The process that has a device open, and which candidate is blamed for its errors: kernels here are OpenCL text that
// no module would be compiled to.
#include "rpc/agent/device/device_candidates.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "rpc/agent/device/device_discovery.h"
#include "rpc/agent/pipe/archive.h"
#include "rpc/agent/sandbox/guarded_buffer.h"
#include "tests/fakes/temporary_folder.h"

namespace hone::agent {
namespace {

using testing::HasSubstr;
using wire::ResultStatus;

constexpr int64_t kCount = 64;
constexpr double kSeconds = 60;

// `body` of a kernel with the parameters a (input) and o (output), thread i of one block.
std::string kernel(const std::string& body) {
  return fmt::format(
      "__kernel __attribute__((reqd_work_group_size({}, 1, 1))) void k(__global float* a, __global float* o) {{ int i "
      "= get_local_id(0); {} }}",
      kCount, body);
}
const std::string kGood = kernel("o[i] = 2.0f * a[i];");

class DeviceCandidatesTest : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceList found = find();
    if (found.devices.empty()) GTEST_SKIP() << testing::PrintToString(found.skipped);
    is_pocl_ = found.devices[0].on_host;
    ASSERT_EQ(pipe(interrupt_), 0);
    StatusOr<SharedMemory> input = SharedMemory::make(kCount * 4);
    ASSERT_TRUE(input.ok()) << input.status();
    for (int64_t i = 0; i < kCount; ++i) {
      static_cast<float*>(input->data())[i] = static_cast<float>(i);
      samples_.push_back(i);
      values_.push_back(2.0 * static_cast<double>(i));
      tolerances_.push_back(2e-6 * static_cast<double>(i));
    }
    input_ = std::make_shared<const SharedMemory>(std::move(*input));
    open();
  }
  void TearDown() override {
    place_.reset();
    for (const int fd : interrupt_)
      if (fd >= 0) close(fd);
    for (const char* name : {"OCL_ICD_VENDORS", "POCL_MAX_WORK_GROUP_SIZE"}) unsetenv(name);
  }

  // In another process: a driver has threads, and a process that forks must not.
  DeviceList find() {
    DeviceCandidates looks({*device_kind_of("opencl"), 0, 0}, folder_.path(), std::nullopt, -1);
    const StatusOr<DeviceHello> hello = looks.open();
    return hello.ok() ? DeviceList{{hello->device}, {}} : DeviceList{{}, {message_of(hello.status())}};
  }
  void open(uint64_t most_folder_bytes = DeviceCandidates::kMostFolderBytes) {
    place_.emplace(DeviceSpec{*device_kind_of("opencl"), 0, 0}, folder_.path(), std::nullopt, interrupt_[0],
                   most_folder_bytes);
    const auto hello = place_->open();
    ASSERT_TRUE(hello.ok()) << hello.status();
  }

  StatusOr<std::unique_ptr<RunningCandidate>> try_start(const std::string& text) {
    BuiltModule& m = modules_.emplace_back();
    m.path = fmt::format("{}/{}.so", folder_.path(), modules_.size());
    std::ofstream(m.path, std::ios::binary)
        << to_bytes(DeviceCode{true, text, {{.kernel = "k", .shape = {.blocks = 1, .threads = kCount}}}});
    for (const auto& [name, role] : {std::pair("a", ParamRole::kInput), std::pair("o", ParamRole::kOutput)}) {
      Param p;
      p.name = name;
      p.role = role;
      p.dtype = f32;
      p.shape = {kCount};
      p.layout = Layout::identity({kCount});
      m.info.params.push_back(p);
    }
    change_(m.info);
    CandidateTask task;
    task.module = &m;
    task.inputs = {input_, nullptr};
    task.reference = input_;
    task.expected = {{samples_, values_, {}, tolerances_}};
    return place_->start(task);
  }
  std::unique_ptr<RunningCandidate> start(const std::string& text) {
    auto candidate = try_start(text);
    EXPECT_TRUE(candidate.ok()) << candidate.status();
    return *std::move(candidate);
  }
  static ResultStatus status_of(const Answer<CheckReply>& a) {
    return a.failure ? a.failure->status : a.reply.result.status;
  }
  static std::string text_of(const Answer<CheckReply>& a) {
    return a.failure ? a.failure->message : a.reply.result.message;
  }
  ResultStatus checked(const std::string& text) { return status_of(start(text)->check(kSeconds)); }

  TemporaryFolder folder_;
  bool is_pocl_ = false;
  int interrupt_[2] = {-1, -1};
  std::shared_ptr<const SharedMemory> input_;
  std::vector<int64_t> samples_;
  std::vector<double> values_, tolerances_;
  std::list<BuiltModule> modules_;
  std::function<void(ModuleInfo&)> change_ = [](ModuleInfo&) {};
  std::optional<DeviceCandidates> place_;
};

TEST_F(DeviceCandidatesTest, NobodyIsJudgedByAnInputThatAnotherOverwrote) {
  EXPECT_EQ(checked(kernel("o[i] = 2.0f * a[i]; a[i] = -1.0f;")), ResultStatus::kOk) << "so far it is right";
  const pid_t before = place_->process();
  const auto good = start(kGood)->check(kSeconds);
  EXPECT_EQ(status_of(good), ResultStatus::kOk) << text_of(good);
  EXPECT_NE(place_->process(), before);
}

TEST_F(DeviceCandidatesTest, WhatIsWrongByItselfCostsNoProcess) {
  const pid_t before = place_->process();
  EXPECT_EQ(checked(kernel("o[i] = a[i] + 100.0f;")), ResultStatus::kWrongResult);
  EXPECT_EQ(place_->process(), before);
}

TEST_F(DeviceCandidatesTest, AProcessThatIsKilledWhileItTimesIsReplaced) {
  const auto candidate = start(kGood);
  ASSERT_EQ(status_of(candidate->check(kSeconds)), ResultStatus::kOk);
  kill(place_->process(), SIGKILL);
  const auto timed = candidate->time({.min_seconds = 1e-3}, kSeconds);
  EXPECT_FALSE(timed.failure) << timed.failure->message;
  EXPECT_EQ(timed.reply.status, ResultStatus::kOk) << timed.reply.message;
  EXPECT_GT(candidate->others_seconds(), 0) << "a driver's start is in nobody's deadline";
}

TEST_F(DeviceCandidatesTest, AnOverrunEndsTheProcessAndIsItsOwnersFault) {
  const auto good = start(kGood);
  ASSERT_EQ(status_of(good->check(kSeconds)), ResultStatus::kOk);
  const pid_t before = place_->process();
  const auto answer =
      start(kernel(fmt::format("o[i] = 2.0f * a[i]; if (i == 0) o[{}] = 1.0f;", kCount + 3)))->check(kSeconds);
  EXPECT_EQ(status_of(answer), ResultStatus::kRunFailed);
  EXPECT_THAT(text_of(answer), HasSubstr("wrote outside of 'o'"));
  const auto timed = good->time({.min_seconds = 1e-3}, kSeconds);
  EXPECT_FALSE(timed.failure);
  EXPECT_EQ(timed.reply.status, ResultStatus::kOk) << timed.reply.message;
  EXPECT_NE(place_->process(), before);
}

TEST_F(DeviceCandidatesTest, ACancelledRunStartsNoDriver) {
  const auto first = start(kGood), second = start(kGood);
  ASSERT_EQ(write(interrupt_[1], "x", 1), 1);
  EXPECT_EQ(status_of(first->check(kSeconds)), ResultStatus::kCancelled);
  EXPECT_EQ(status_of(second->check(kSeconds)), ResultStatus::kCancelled);
  EXPECT_EQ(place_->process(), 0);
}

TEST_F(DeviceCandidatesTest, ADeviceThatIsGoneIsNoCandidatesFault) {
  if (!is_pocl_) GTEST_SKIP() << "other loaders do not follow OCL_ICD_VENDORS";
  const auto candidate = start(kGood);
  ASSERT_EQ(status_of(candidate->check(kSeconds)), ResultStatus::kOk);
  setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
  kill(place_->process(), SIGKILL);
  const auto timed = candidate->time({.min_seconds = 1e-3}, kSeconds);
  ASSERT_TRUE(timed.failure);
  EXPECT_EQ(timed.failure->status, ResultStatus::kDeviceLost);
  EXPECT_THAT(timed.failure->message, HasSubstr("opencl0 cannot be opened"));
  unsetenv("OCL_ICD_VENDORS");
  EXPECT_EQ(checked(kGood), ResultStatus::kOk) << "it came back";
}

TEST_F(DeviceCandidatesTest, AnotherDeviceInItsPlaceIsNotMeasuredOn) {
  if (!is_pocl_) GTEST_SKIP() << "only PoCL's properties can be changed";
  setenv("POCL_MAX_WORK_GROUP_SIZE", "128", 1);
  kill(place_->process(), SIGKILL);
  const auto answer = start(kGood)->check(kSeconds);
  EXPECT_EQ(status_of(answer), ResultStatus::kDeviceLost);
  EXPECT_THAT(text_of(answer), HasSubstr("is another device now"));
}

TEST_F(DeviceCandidatesTest, ABuilderCannotHaveMoreSentThanThereIs) {
  change_ = [](ModuleInfo& m) {
    m.params[0].shape = {int64_t{1} << 30};
    m.params[0].layout = Layout::identity(m.params[0].shape);
  };
  const auto candidate = try_start(kGood);
  EXPECT_EQ(message_of(candidate.status()), "'a' is smaller than its layout says");
  change_ = [](ModuleInfo& m) { m.prepacks = {{0, {{f32, 2}}}}; };
  EXPECT_EQ(message_of(try_start(kGood).status()), "'a' is packed by code; a GPU takes inputs as they are");
}

TEST_F(DeviceCandidatesTest, WhatADriverKeepsIsRemoved) {
  // Between what is allowed and a flood, which would end a check that takes seconds on a busy machine.
  open(8 << 20);
  std::ofstream(folder_.path() + "/of_the_driver") << std::string(16 << 20, 'x');
  for (int i = 0; i < 100 && access((folder_.path() + "/of_the_driver").c_str(), F_OK) == 0; ++i) {
    const auto answer = start(kGood)->check(kSeconds);
    ASSERT_EQ(status_of(answer), ResultStatus::kOk) << text_of(answer);
  }
  EXPECT_NE(access((folder_.path() + "/of_the_driver").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace hone::agent
