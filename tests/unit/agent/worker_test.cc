#include "rpc/agent/supervise/worker.h"

#include <gtest/gtest.h>

namespace hone::agent {
namespace {

// The runner dies in the event in which its run is cancelled: nothing else owns it when the frame is sent.
TEST(Worker, LivesUntilWhatItTellsIsSent) {
  asio::io_context io;
  StatusOr<std::shared_ptr<Worker>> started = Worker::start(io, "agent_test", {"--gtest_list_tests"});
  ASSERT_TRUE(started.ok()) << started.status();
  std::shared_ptr<Worker> worker = *std::exchange(started, absl::AbortedError(""));
  const std::weak_ptr<Worker> left = worker;
  worker->tell(FrameKind::kCancel, "");
  worker.reset();
  EXPECT_FALSE(left.expired());
  io.run();
  EXPECT_TRUE(left.expired());
}

}  // namespace
}  // namespace hone::agent
