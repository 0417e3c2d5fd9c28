#include "rpc/agent/pipe/frames.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <limits>
#include <thread>

namespace hone::agent {
namespace {

class FramesTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds_), 0); }
  void TearDown() override {
    close(fds_[0]);
    if (fds_[1] >= 0) close(fds_[1]);
  }
  int fds_[2] = {-1, -1};
};

RunRequest sample_request() {
  RunRequest r;
  BuiltModule m;
  m.path = "/x/1.so";
  m.info.params = {{"A", ParamRole::kInput, f32, {3, 5}, Layout::identity({3, 5})},
                   {"W", ParamRole::kConstant, f32, {4}, Layout::identity({4})},
                   {"C", ParamRole::kOutput, i32, {7}, Layout::identity({7})}};
  m.info.prepacks = {{1, {{f16, 4}, {i32, 3}}}};
  m.info.workspace_bytes = 4096;
  r.candidates = {m, m};
  r.seed = 42;
  r.profile.best_seconds = 0.25;
  r.reference.emplace();
  r.reference->samples = {{1, 2, 3}, {}};
  r.reference->key = {1, 2};
  return r;
}

TEST_F(FramesTest, CarryStructsUnchanged) {
  ASSERT_TRUE(send_frame(fds_[0], FrameKind::kRunRequest, sample_request()).ok());
  const StatusOr<Frame> frame = receive_frame(fds_[1]);
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->kind, FrameKind::kRunRequest);
  const StatusOr<RunRequest> r = from_bytes<RunRequest>(frame->payload);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(to_bytes(*r), to_bytes(sample_request()));
  EXPECT_EQ(r->candidates[1].info.params[0].layout, Layout::identity({3, 5}));
  EXPECT_EQ(r->profile, sample_request().profile);
  EXPECT_EQ(r->reference->samples, (std::vector<std::vector<int64_t>>{{1, 2, 3}, {}}));
}

TEST_F(FramesTest, LargerThanTheSocketsBuffer) {
  const std::string large(5 << 20, 'x');
  std::thread sender([&] { EXPECT_TRUE(send_frame(fds_[0], FrameKind::kBuildRequest, std::string_view(large)).ok()); });
  const StatusOr<Frame> frame = receive_frame(fds_[1]);
  sender.join();
  ASSERT_TRUE(frame.ok());
  EXPECT_EQ(frame->payload, large);
}

TEST_F(FramesTest, EveryTruncationIsAnError) {
  const std::string bytes = to_bytes(sample_request());
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(from_bytes<RunRequest>(bytes.substr(0, n)).ok()) << n;
  EXPECT_FALSE(from_bytes<RunRequest>(bytes + "x").ok());
}

TEST_F(FramesTest, HugeCountsAllocateNothing) {
  std::string bytes(8, '\xff');
  EXPECT_FALSE(from_bytes<std::vector<int64_t>>(bytes).ok());
  EXPECT_FALSE(from_bytes<std::string>(bytes).ok());
}

TEST_F(FramesTest, ValuesThatTheirTypeDoesNotHaveAreErrors) {
  EXPECT_TRUE(from_bytes<bool>(std::string_view("\1", 1)).ok());
  EXPECT_FALSE(from_bytes<bool>(std::string_view("\2", 1)).ok());
  EXPECT_TRUE(from_bytes<wire::ResultStatus>(std::string_view("\x0a", 1)).ok());
  EXPECT_FALSE(from_bytes<wire::ResultStatus>(std::string_view("\x0b", 1)).ok());
  EXPECT_FALSE(from_bytes<wire::ResultStatus>(std::string_view("\0", 1)).ok());
  EXPECT_FALSE(from_bytes<ParamRole>(std::string_view("\3", 1)).ok());
}

TEST(CandidateReplies, SayNothingThatIsNotTheCandidatesToSay) {
  CheckReply check;
  for (const wire::ResultStatus status : wire::kAllResultStatuses) {
    using enum wire::ResultStatus;
    check.result.status = status;
    EXPECT_EQ(believable(check), status == kOk || status == kRejected || status == kBuildFailed ||
                                     status == kRunFailed || status == kWrongResult)
        << static_cast<int>(status);
  }
  check.result.status = wire::ResultStatus::kOk;
  check.first_call_seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(believable(check));
  check.first_call_seconds = 0;
  check.result.message.assign(kMaxMessageText + 1, 'x');
  EXPECT_FALSE(believable(check)) << "eight of them would not fit into the runner's reply";
  TimeReply time;
  EXPECT_TRUE(believable(time));
  time.sentinel.assign(100'000, 1.0);
  EXPECT_FALSE(believable(time)) << "more readings than there can be cores";
  time.sentinel = {std::numeric_limits<double>::infinity()};
  EXPECT_FALSE(believable(time));
  time.sentinel.clear();
  time.tiles = {-1};
  EXPECT_FALSE(believable(time));
  time.tiles.clear();
  time.seconds = -1;
  EXPECT_FALSE(believable(time));
}

TEST(BuildersReplies, SayNothingThatTheRunnerCouldNotWorkWith) {
  BuildReply good;
  good.info = sample_request().candidates[0].info;
  ASSERT_TRUE(believable(good));
  const auto changed = [&](const std::function<void(BuildReply&)>& change) {
    BuildReply reply = good;
    change(reply);
    return believable(reply);
  };
  for (const wire::ResultStatus status : wire::kAllResultStatuses) {
    using enum wire::ResultStatus;
    EXPECT_EQ(changed([&](BuildReply& r) { r.status = status; }),
              status == kOk || status == kRejected || status == kBuildFailed)
        << static_cast<int>(status);
  }
  EXPECT_FALSE(changed([](BuildReply& r) { r.seconds = std::numeric_limits<double>::infinity(); }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.message.assign(kMaxMessageText + 1, 'x'); }));
  EXPECT_TRUE(changed([](BuildReply& r) { r.info.prepacks.clear(); }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.prepacks.push_back(r.info.prepacks[0]); })) << "two for one";
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.prepacks[0].param = 3; })) << "there is none";
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.prepacks[0].param = 0; })) << "no constant";
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.prepacks[0].tensors.clear(); }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.prepacks[0].tensors[1].elements = 0; }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.prepacks[0].tensors[1].elements = int64_t{1} << 60; }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.prepacks[0].tensors[0].dtype.lanes = 4; }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.prepacks[0].tensors.assign(5000, {f32, 1}); }));
  EXPECT_FALSE(changed([](BuildReply& r) {
    r.info.params.assign(200'000, {"W", ParamRole::kConstant, f32, {4}, Layout::identity({4})});
    r.info.prepacks.clear();
    for (uint32_t i = 0; i < 200'000; ++i) r.info.prepacks.push_back({i, {{f32, 4}}});
  })) << "and at once: whoever looked each of them up would be busy for half a minute";
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.params[0].shape = {int64_t{1} << 40, int64_t{1} << 40}; }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.params[0].layout.dims[0].axis = 7; }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.params[1].dtype.bits = 0; }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.params[1].dtype.lanes = -4; }));
  EXPECT_FALSE(changed([](BuildReply& r) { r.info.workspace_bytes = -1; }));
  // A module that was not built has none.
  EXPECT_TRUE(changed([](BuildReply& r) { r.status = wire::ResultStatus::kRejected, r.info = {}; }));
}

TEST_F(FramesTest, OversizedHeaderIsAnError) {
  const char header[] = {'\xff', '\xff', '\xff', '\xff', 1};
  ASSERT_EQ(send(fds_[0], header, sizeof header, 0), 5);
  EXPECT_EQ(receive_frame(fds_[1]).status().code(), absl::StatusCode::kInternal);
}

TEST_F(FramesTest, SayWhyNothingCame) {
  const auto now = SteadyClock().now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(receive_frame(fds_[0], now).status()));
  int interrupt[2];
  ASSERT_EQ(pipe(interrupt), 0);
  ASSERT_EQ(write(interrupt[1], "x", 1), 1);
  EXPECT_TRUE(absl::IsCancelled(receive_frame(fds_[0], Clock::TimePoint::max(), interrupt[0]).status()));
  close(interrupt[0]);
  close(interrupt[1]);
  close(fds_[1]);
  fds_[1] = -1;
  EXPECT_TRUE(absl::IsUnavailable(receive_frame(fds_[0]).status()));
  EXPECT_TRUE(absl::IsUnavailable(send_frame(fds_[0], FrameKind::kCancel)));
}

}  // namespace
}  // namespace hone::agent
