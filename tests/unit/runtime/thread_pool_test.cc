// The wrapper's additions to the pool, whose own tests are tests/unit/pool.
#include "compiler/runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/check.h"

namespace hone {
namespace {

TEST(ThreadPool, IsWhatItsRuntimeSays) {
  ThreadPool pool({.workers = 3});
  const HoneRuntime* rt = pool.runtime();
  EXPECT_EQ(rt->abi_version, HONE_RUNTIME_ABI);
  EXPECT_EQ(rt->workers, 3);
  EXPECT_EQ(pool.workers(), 3);
  std::vector<std::atomic<int>> hits(9);
  const HoneChunk count = [](int64_t begin, int64_t end, int32_t, void* all) -> int32_t {
    for (int64_t i = begin; i < end; ++i) ++(*static_cast<std::vector<std::atomic<int>>*>(all))[static_cast<size_t>(i)];
    return HONE_OK;
  };
  EXPECT_EQ(rt->parallel_for(rt->self, count, &hits, 9, 3, 0), HONE_OK);
  EXPECT_EQ(pool.parallel_for(count, &hits, 9, 2, 1), HONE_OK);
  for (const auto& n : hits) EXPECT_EQ(n, 2);
}

TEST(ThreadPool, SaysThatThereAreNotSoManyThreads) {
  EXPECT_THROW(ThreadPool({.workers = 1 << 20}), UserError);
  EXPECT_EQ(ThreadPool({.workers = -1}).workers(), 1);
}

// Not the caller for one that begins late.
TEST(ThreadPool, EachRunsOnItsOwnThread) {
  ThreadPool pool({.workers = 3});
  std::vector<std::thread::id> first(3), now(3);
  const HoneChunk who = [](int64_t begin, int64_t end, int32_t worker, void* ids) -> int32_t {
    if (end != begin + 1 || worker != begin) return 7;
    (*static_cast<std::vector<std::thread::id>*>(ids))[static_cast<size_t>(begin)] = std::this_thread::get_id();
    return HONE_OK;
  };
  ASSERT_EQ(pool.on_each(who, &first), HONE_OK);
  EXPECT_EQ(first[0], std::this_thread::get_id());
  for (int turn = 0; turn < 20; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the workers sleep, and begin late
    ASSERT_EQ(pool.on_each(who, &now), HONE_OK);
    EXPECT_EQ(now, first);
  }
}

TEST(ThreadPool, PinsItsThreadsAndNotTheCaller) {
  const std::vector<int> cpus = allowed_cpus();
  const size_t before = cpus.size();
  ThreadPool pool({.workers = 3, .cpus = {cpus[0], cpus.back(), cpus[0]}});
  std::vector<std::vector<int>> seen(3);
  const HoneChunk look = [](int64_t worker, int64_t, int32_t, void* all) -> int32_t {
    (*static_cast<std::vector<std::vector<int>>*>(all))[static_cast<size_t>(worker)] = allowed_cpus();
    return HONE_OK;
  };
  ASSERT_EQ(pool.on_each(look, &seen), HONE_OK);
  EXPECT_EQ(seen[0].size(), before);
  EXPECT_EQ(seen[1], std::vector<int>{cpus.back()});
  EXPECT_EQ(seen[2], std::vector<int>{cpus[0]});
}

}  // namespace
}  // namespace hone
