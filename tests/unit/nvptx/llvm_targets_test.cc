#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/codegen/nvptx/emit.h"

namespace hone {
namespace {

// LLVM's list of code generators became a circle where two threads entered them at once: a lookup never came back.
// The threads meet before the process's first use of LLVM.
TEST(LlvmTargets, AreEnteredOnceByManyThreads) {
  constexpr int kThreads = 8;
  std::latch together(kThreads);
  std::vector<std::string> found(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      found[i] = i % 2 ? ptx_arch("sm_75") : host_target(1).mcpu;
    });
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(found[i], i % 2 ? "sm_75" : found[0]) << i;
  EXPECT_FALSE(found[0].empty());
}

}  // namespace
}  // namespace hone
