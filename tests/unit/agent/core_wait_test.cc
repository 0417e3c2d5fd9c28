#include "rpc/agent/pipe/core_wait.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "compiler/runtime/thread_pool.h"

namespace hone::agent {
namespace {

void work_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(CoreWait, WakingUpDisturbsNothing) {
  EXPECT_FALSE(disturbs({}, 2e-3));
  EXPECT_FALSE(disturbs({100e-6, 10}, 2e-3));
  EXPECT_TRUE(disturbs({500e-6, 1}, 2e-3));
  EXPECT_FALSE(disturbs({500e-6, 1}, 1.0));
}

// Two threads on one core: one of them waits whenever the other runs.
TEST(CoreWait, CountsWhatAThreadWaitsForAnother) {
  const std::vector<int> cpus = allowed_cpus();
  ASSERT_FALSE(cpus.empty());
  const PinnedCaller here(cpus[0]);
  std::thread other([&] {
    pin_this_thread(cpus[0]);
    work_for(std::chrono::milliseconds(60));
  });
  const CoreWaitCounter counter;
  const CoreWait before = counter.total();
  work_for(std::chrono::milliseconds(60));
  const CoreWait after = counter.total();
  other.join();
  EXPECT_TRUE(disturbs({after.seconds - before.seconds, after.slices - before.slices}, 60e-3));
}

}  // namespace
}  // namespace hone::agent
