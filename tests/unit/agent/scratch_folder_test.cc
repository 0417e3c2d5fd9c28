// Folders of agents that start at the same moment: each sweeps leftovers of others.
#include "rpc/agent/sandbox/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <vector>

namespace hone::agent {
namespace {

TEST(ScratchFolder, OfOthersThatStartAtTheSameMomentStay) {
  constexpr int kThreads = 8, kTurns = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([] {
      for (int n = 0; n < kTurns; ++n) {
        const StatusOr<ScratchFolder> folder = ScratchFolder::make();
        ASSERT_TRUE(folder.ok()) << folder.status();
        std::this_thread::yield();
        ASSERT_TRUE(std::filesystem::exists(folder->path() + "/lock")) << folder->path();
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace hone::agent
