#include "compiler/runtime/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace hone {
namespace {

struct Counts {
  std::vector<std::atomic<int>> hits;
  std::atomic<int> chunks{0}, highest_worker{0};
  ThreadPool* pool = nullptr;
  explicit Counts(size_t n) : hits(n) {}
};

int32_t count(int64_t begin, int64_t end, int32_t worker, void* closure) {
  auto* c = static_cast<Counts*>(closure);
  ++c->chunks;
  int highest = c->highest_worker;
  while (highest < worker && !c->highest_worker.compare_exchange_weak(highest, worker)) {
  }
  for (int64_t i = begin; i < end; ++i) ++c->hits[static_cast<size_t>(i)];
  return 0;
}

TEST(ThreadPool, RunsEveryIterationOnce) {
  for (int workers : {1, 2, 3, 5})
    for (int64_t n : {0, 1, 2, 7, 1000}) {
      ThreadPool pool({.workers = workers});
      Counts c(static_cast<size_t>(n));
      EXPECT_EQ(pool.parallel_for(&count, &c, n, workers), HONE_OK);
      for (const auto& hits : c.hits) EXPECT_EQ(hits, 1);
      EXPECT_LE(c.chunks, workers);
      EXPECT_LT(c.highest_worker, workers);
    }
}

TEST(ThreadPool, RegionsFollowEachOtherWithoutLosingIterations) {
  for (int spin_us : {0, 20}) {  // 0: every wait sleeps
    ThreadPool pool({.workers = 3, .spin_us = spin_us});
    Counts c(64);
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(pool.parallel_for(&count, &c, 64, 3), HONE_OK);
    for (const auto& hits : c.hits) EXPECT_EQ(hits, 2000);
  }
}

TEST(ThreadPool, ClaimedChunksCoverEveryIterationOnce) {
  for (int spin_us : {0, 20})
    for (int64_t n : {1, 2, 7, 1000})
      for (int64_t grain : std::vector<int64_t>{1, 3, 999, INT64_MAX}) {
        ThreadPool pool({.workers = 3, .spin_us = spin_us});
        Counts c(static_cast<size_t>(n));
        for (int i = 0; i < 20; ++i) ASSERT_EQ(pool.parallel_for(&count, &c, n, 3, grain), HONE_OK);
        for (const auto& hits : c.hits) EXPECT_EQ(hits, 20);
        EXPECT_EQ(c.chunks, 20 * (grain < n ? (n + grain - 1) / grain : 1));
        EXPECT_LT(c.highest_worker, 3);
      }
}

TEST(ThreadPool, AFreeWorkerClaimsWhatABusyOneLeaves) {
  ThreadPool pool({.workers = 2});
  std::atomic<int> others{0};
  // Iteration 0 lasts until all others have run: with equal shares the rest of its own would wait behind it.
  const auto body = [](int64_t begin, int64_t end, int32_t, void* closure) -> int32_t {
    auto& done = *static_cast<std::atomic<int>*>(closure);
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int64_t i = begin; i < end; ++i) {
      if (i > 0) ++done;
      while (i == 0 && done < 9)
        if (std::chrono::steady_clock::now() > late) return 5;
    }
    return 0;
  };
  EXPECT_EQ(pool.parallel_for(body, &others, 10, 2, 1), HONE_OK);
  EXPECT_EQ(others, 9);
}

TEST(ThreadPool, AnErrorEndsTheClaims) {
  ThreadPool pool({.workers = 2});
  std::atomic<int> ran{0};
  const auto fail = [](int64_t, int64_t, int32_t, void* closure) -> int32_t {
    ++*static_cast<std::atomic<int>*>(closure);
    return 7;
  };
  EXPECT_EQ(pool.parallel_for(fail, &ran, 1000, 2, 1), 7);
  EXPECT_LE(ran, 2);
}

TEST(ThreadPool, KeepsToTheWorkersThatTheCallAllows) {
  ThreadPool pool({.workers = 4});
  Counts c(100);
  EXPECT_EQ(pool.parallel_for(&count, &c, 100, 2), HONE_OK);
  EXPECT_LE(c.chunks, 2);
  EXPECT_LT(c.highest_worker, 2);
}

TEST(ThreadPool, PassesOnAnError) {
  ThreadPool pool({.workers = 2});
  const auto fail = [](int64_t begin, int64_t, int32_t, void*) -> int32_t { return begin > 0 ? 7 : 0; };
  EXPECT_EQ(pool.parallel_for(fail, nullptr, 10, 2), 7);
  Counts c(10);
  EXPECT_EQ(pool.parallel_for(&count, &c, 10, 2), HONE_OK);  // and works on
}

TEST(ThreadPool, RunsNestedCallsInline) {
  ThreadPool pool({.workers = 2});
  Counts c(50);
  c.pool = &pool;
  const auto outer = [](int64_t begin, int64_t end, int32_t, void* closure) -> int32_t {
    auto* counts = static_cast<Counts*>(closure);
    for (int64_t i = begin; i < end; ++i) counts->pool->parallel_for(&count, counts, 50, 2);
    return 0;
  };
  EXPECT_EQ(pool.parallel_for(outer, &c, 4, 2), HONE_OK);
  for (const auto& hits : c.hits) EXPECT_EQ(hits, 4);
}

TEST(ThreadPool, ServesTwoCallersAtOnce) {
  ThreadPool pool({.workers = 2});
  Counts a(100), b(100);
  std::thread other([&] {
    for (int i = 0; i < 500; ++i) pool.parallel_for(&count, &a, 100, 2);
  });
  for (int i = 0; i < 500; ++i) pool.parallel_for(&count, &b, 100, 2);
  other.join();
  for (const auto& hits : a.hits) EXPECT_EQ(hits, 500);
  for (const auto& hits : b.hits) EXPECT_EQ(hits, 500);
}

TEST(ThreadPool, IsWhatItsRuntimeSays) {
  ThreadPool pool({.workers = 2});
  const HoneRuntime* rt = pool.runtime();
  EXPECT_EQ(rt->abi_version, HONE_RUNTIME_ABI);
  EXPECT_EQ(rt->workers, 2);
  Counts c(9);
  EXPECT_EQ(rt->parallel_for(rt->self, &count, &c, 9, 2, 0), HONE_OK);
  for (const auto& hits : c.hits) EXPECT_EQ(hits, 1);
}

}  // namespace
}  // namespace hone
