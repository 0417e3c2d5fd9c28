// Candidates of devices over a device in memory whose kernels and clock are the test's.
#include "rpc/agent/device/device_candidate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "rpc/agent/pipe/archive.h"

namespace hone::agent {
namespace {

using testing::HasSubstr;
using wire::ResultStatus;

class MemoryBuffer final : public DeviceBuffer {
 public:
  MemoryBuffer(const Device* owner, int64_t bytes) : DeviceBuffer(owner, bytes), data(static_cast<size_t>(bytes)) {}
  std::vector<char> data;
};

class MemoryKernel final : public DeviceKernel {
 public:
  explicit MemoryKernel(const Device* owner) : DeviceKernel(owner, {.name = "k"}) {}
};

class MemoryProgram final : public DeviceProgram {
 public:
  explicit MemoryProgram(const Device* owner) : DeviceProgram("", false), kernel_(owner) {}
  StatusOr<DeviceKernel*> kernel(const std::string&) override { return &kernel_; }
  StatusOr<DeviceImage> image() const override { return absl::UnimplementedError("none"); }

 private:
  MemoryKernel kernel_;
};

class MemoryDevice final : public Device {
 public:
  using Buffers = std::vector<float*>;
  MemoryDevice()
      : Device(
            {.name = "memory", .memory_bytes = 1 << 24, .max_threads = 64, .max_blocks = 64, .max_local_bytes = 64}) {}

  std::function<void(const Buffers&)> kernel;  ///< run by each launch
  double seconds_per_launch = 1e-3;
  int64_t launches = 0;

 private:
  StatusOr<std::unique_ptr<DeviceBuffer>> do_allocate(int64_t bytes) override {
    return std::make_unique<MemoryBuffer>(this, bytes);
  }
  StatusOr<std::unique_ptr<DeviceBuffer>> do_wrap(void*, int64_t) override { return absl::UnimplementedError("none"); }
  StatusOr<std::unique_ptr<DeviceBuffer>> do_part(DeviceBuffer&, int64_t, int64_t) override {
    return absl::UnimplementedError("none");
  }
  Status do_copy(const DeviceBuffer&, DeviceBuffer&, int64_t) override { return absl::UnimplementedError("none"); }
  Status do_write(DeviceBuffer& to, const void* from, int64_t bytes, int64_t offset) override {
    std::memcpy(static_cast<MemoryBuffer&>(to).data.data() + offset, from, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  Status do_read(const DeviceBuffer& from, void* to, int64_t bytes, int64_t offset) override {
    std::memcpy(to, static_cast<const MemoryBuffer&>(from).data.data() + offset, static_cast<size_t>(bytes));
    return absl::OkStatus();
  }
  Status do_fill(DeviceBuffer& buffer, uint8_t byte) override {
    std::memset(static_cast<MemoryBuffer&>(buffer).data.data(), byte, static_cast<MemoryBuffer&>(buffer).data.size());
    return absl::OkStatus();
  }
  StatusOr<std::unique_ptr<DeviceProgram>> do_compile(const std::string&, const CompileOptions&) override {
    return std::make_unique<MemoryProgram>(this);
  }
  StatusOr<std::unique_ptr<DeviceProgram>> do_load(const DeviceImage&) override {
    return std::make_unique<MemoryProgram>(this);
  }
  Status do_launch(const DeviceKernel&, const LaunchShape&, std::span<DeviceBuffer* const> buffers) override {
    Buffers all;
    for (DeviceBuffer* b : buffers) all.push_back(reinterpret_cast<float*>(static_cast<MemoryBuffer*>(b)->data.data()));
    kernel(all);
    ++launches;
    return absl::OkStatus();
  }
  Status do_synchronize() override { return absl::OkStatus(); }
  Status begin_region() override {
    before_ = launches;
    return absl::OkStatus();
  }
  StatusOr<double> end_region() override { return static_cast<double>(launches - before_) * seconds_per_launch; }

  int64_t before_ = 0;
};

class DeviceCandidateTest : public testing::Test {
 protected:
  // out[i] = 1 for two elements, and a workspace of two more.
  DeviceCandidateTest() {
    Param out;
    out.name = "out";
    out.role = ParamRole::kOutput;
    out.dtype = f32;
    out.shape = {2};
    out.layout = Layout::identity({2});
    request_.info.params = {out};
    request_.info.workspace_bytes = 8;
    request_.code = to_bytes(DeviceCode{true, "text", {{.kernel = "k"}}});
    device_.kernel = [](const MemoryDevice::Buffers& b) { b[0][0] = b[0][1] = 1; };
  }
  std::unique_ptr<DeviceCandidate> checked() {
    auto candidate = std::make_unique<DeviceCandidate>(device_, request_, std::vector<DeviceBuffer*>{nullptr});
    EXPECT_EQ(candidate->check({}).result.status, ResultStatus::kOk);
    return candidate;
  }

  MemoryDevice device_;
  CheckRequest request_;
};

TEST_F(DeviceCandidateTest, EveryCallIsTimed) {
  const TimeReply r = checked()->time({.min_seconds = 10e-3});
  EXPECT_EQ(r.status, ResultStatus::kOk) << r.message;
  EXPECT_EQ(r.calls, 10);
  EXPECT_DOUBLE_EQ(r.seconds, 1e-3);
}

TEST_F(DeviceCandidateTest, WhatKeepsAnEarlierCallsResultIsWrong) {
  device_.kernel = [](const MemoryDevice::Buffers& b) {
    if (b[1][0] == 7) return;  // the workspace says that it is done
    b[0][0] = b[0][1] = 1;
    b[1][0] = 7;
  };
  const TimeReply r = checked()->time({.min_seconds = 10e-3});
  EXPECT_EQ(r.status, ResultStatus::kWrongResult);
  EXPECT_THAT(r.message, HasSubstr("'out' is not the same when the kernel runs again"));
}

TEST_F(DeviceCandidateTest, ASingleTimedCallIsHeldAgainstTheCheckedOne) {
  device_.kernel = [this](const MemoryDevice::Buffers& b) { b[0][0] = b[0][1] = static_cast<float>(device_.launches); };
  EXPECT_EQ(checked()->time({.min_seconds = 0}).status, ResultStatus::kWrongResult);
}

TEST_F(DeviceCandidateTest, NoCallIsFree) {
  const auto candidate = checked();
  device_.seconds_per_launch = 0;
  const TimeReply r = candidate->time({.min_seconds = 0, .flush_cache = true});
  EXPECT_EQ(r.status, ResultStatus::kRunFailed);
  EXPECT_THAT(r.message, HasSubstr("no time by the device's clock"));
}

TEST_F(DeviceCandidateTest, NobodyCountsOnZerosInTheWorkspace) {
  device_.kernel = [](const MemoryDevice::Buffers& b) { b[0][0] = b[0][1] = b[1][1] == b[1][1] ? 0 : 1; };
  auto candidate = checked();
  EXPECT_EQ(static_cast<const float*>(candidate->output(0))[1], 1) << "NaNs are there";
}

TEST_F(DeviceCandidateTest, AWorkspaceBeyondAllMemoryIsRefused) {
  request_.info.workspace_bytes = std::numeric_limits<int64_t>::max() - 8;
  EXPECT_THROW(checked(), CandidateFailure);
}

TEST_F(DeviceCandidateTest, AnOverrunIsSeen) {
  device_.kernel = [](const MemoryDevice::Buffers& b) { b[0][0] = b[0][1] = b[0][2] = 1; };
  EXPECT_THROW(checked(), CandidateFailure);
}

}  // namespace
}  // namespace hone::agent
