// The C thread pool of artifacts.
#include "compiler/runtime/pool/pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/fakes/eventually.h"

namespace hone {
namespace {

struct FreePool {
  void operator()(HoneRuntime* pool) const { hone_internal_pool_free(pool); }
};
using Pool = std::unique_ptr<HoneRuntime, FreePool>;

Pool make(int32_t threads) { return Pool(hone_internal_pool_new(threads)); }

template <class Body>
int32_t run(const Pool& pool, int64_t n, int32_t max_workers, int64_t grain, Body body) {
  const HoneChunk chunk = [](int64_t begin, int64_t end, int32_t worker, void* closure) -> int32_t {
    return (*static_cast<Body*>(closure))(begin, end, worker);
  };
  return pool->parallel_for(pool->self, chunk, &body, n, max_workers, grain);
}

// How often each iteration ran, how many chunks there were, which workers.
struct Counts {
  std::vector<std::atomic<int>> hits;
  std::atomic<int> chunks{0};
  std::atomic<int32_t> highest_worker{0};
  explicit Counts(int64_t n) : hits(static_cast<size_t>(n)) {}
  int32_t operator()(int64_t begin, int64_t end, int32_t worker) {
    ++chunks;
    int32_t highest = highest_worker;
    while (highest < worker && !highest_worker.compare_exchange_weak(highest, worker)) {
    }
    for (int64_t i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
    return 0;
  }
};
auto counting(Counts& c) {
  return [&c](int64_t begin, int64_t end, int32_t worker) { return c(begin, end, worker); };
}

// Whether this process has `n` threads: one that was joined is listed for a moment longer.
bool has_threads(size_t n) {
  return eventually([&] {
    size_t listed = 0;
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator("/proc/self/task")) ++listed;
    return listed == n;
  });
}

// In a child: the value that `body` returns; 99: it did not end.
template <class Body>
int in_child(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return 98;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

TEST(Pool, RunsEveryIterationOnceOnAsManyThreadsAsAsked) {
  for (const int32_t threads : {1, 2, 3, 4, 5, 6, 7, 8}) {
    const Pool pool = make(threads);
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->abi_version, HONE_RUNTIME_ABI);
    EXPECT_EQ(pool->workers, threads);
    EXPECT_EQ(pool->gpu, nullptr);
    for (const int64_t n : {0, 1, 2, 7, 1000})
      for (const int64_t grain : std::vector<int64_t>{0, 1, 3, 999, INT64_MAX}) {
        Counts c(n);
        for (int turn = 0; turn < 3; ++turn) ASSERT_EQ(run(pool, n, threads, grain, counting(c)), HONE_OK);
        for (const auto& hits : c.hits) EXPECT_EQ(hits, 3);
        EXPECT_LT(c.highest_worker, threads);
        EXPECT_TRUE(grain > 0 || c.chunks <= 3 * threads);
      }
  }
}

TEST(Pool, KeepsToTheWorkersThatTheCallAllows) {
  const Pool pool = make(4);
  for (const int32_t max_workers : {1, 2, 3}) {
    Counts c(100);
    for (int turn = 0; turn < 200; ++turn) ASSERT_EQ(run(pool, 100, max_workers, 0, counting(c)), HONE_OK);
    for (const auto& hits : c.hits) EXPECT_EQ(hits, 200);
    EXPECT_LT(c.highest_worker, max_workers);
  }
}

// Numbers of iterations at which sums and products of int64 end.
TEST(Pool, DividesTheLargestNumberOfIterations) {
  const Pool pool = make(3);
  for (const int64_t grain : {int64_t{0}, INT64_MAX / 2}) {
    std::atomic<int64_t> covered{0};
    EXPECT_EQ(run(pool, INT64_MAX, 3, grain,
                  [&](int64_t begin, int64_t end, int32_t) {
                    covered += end - begin;
                    return int32_t{begin < 0 || end < begin};
                  }),
              HONE_OK);
    EXPECT_EQ(covered, INT64_MAX);
  }
}

TEST(Pool, RegionsFollowEachOtherAtOnceAndAfterSleep) {
  const Pool pool = make(3);
  Counts c(64);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(run(pool, 64, 3, i % 2, counting(c)), HONE_OK);
    // About as long as idle threads stay awake.
    if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(i % 3 * 150));
  }
  for (const auto& hits : c.hits) EXPECT_EQ(hits, 3000);
}

// A chunk of the calling thread that waits until another thread has begun one, for 20 s at most.
class Meeting {
 public:
  void begin() {
    if (std::this_thread::get_id() != caller_) return void(++begun_);
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (begun_ == 0 && std::chrono::steady_clock::now() < late) std::this_thread::yield();
  }

 private:
  const std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<int> begun_{0};
};

TEST(Pool, TheCallerSleepsUntilALateWorkerIsDone) {
  const Pool pool = make(2);
  std::atomic<int> done{0};
  Meeting meeting;
  EXPECT_EQ(run(pool, 2, 2, 0,
                [&](int64_t, int64_t, int32_t worker) {
                  meeting.begin();
                  // Longer than the caller stays awake.
                  if (worker == 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
                  ++done;
                  return 0;
                }),
            HONE_OK);
  EXPECT_EQ(done, 2);
}

// The caller is done sooner than a sleeping thread is awake: it does that one's part.
TEST(Pool, AWorkerThatHasNotBegunIsNotWaitedFor) {
  const Pool pool = make(3);
  const auto caller = std::this_thread::get_id();
  std::atomic<int> by_caller{0};
  std::vector<std::atomic<int>> chunks(3);
  for (int i = 0; i < 300; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(400));  // until the pool's threads sleep
    ASSERT_EQ(run(pool, 30, 3, 0,
                  [&](int64_t begin, int64_t end, int32_t worker) {
                    if (worker > 0 && std::this_thread::get_id() == caller) ++by_caller;
                    ++chunks[static_cast<size_t>(worker)];
                    return int32_t{begin != worker * 10 || end != begin + 10};
                  }),
              HONE_OK);
  }
  for (const auto& c : chunks) EXPECT_EQ(c, 300);
  EXPECT_GT(by_caller, 0);
}

// Where threads are to be set or measured, nobody stands in for one that begins late.
TEST(Pool, OnEachRunsOnTheThreadsThemselves) {
  const Pool pool = make(3);
  struct Seen {
    std::thread::id caller = std::this_thread::get_id();
    std::vector<std::atomic<int>> hits = std::vector<std::atomic<int>>(3);
    std::atomic<int> by_caller{0};
  } seen;
  const HoneChunk chunk = [](int64_t begin, int64_t end, int32_t worker, void* closure) -> int32_t {
    Seen& s = *static_cast<Seen*>(closure);
    if (std::this_thread::get_id() == s.caller) ++s.by_caller;
    ++s.hits[static_cast<size_t>(begin)];
    return int32_t{begin != worker || end != begin + 1};
  };
  for (int i = 0; i < 300; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(400));  // until the pool's threads sleep
    ASSERT_EQ(hone_internal_pool_on_each(pool.get(), chunk, &seen), HONE_OK);
  }
  for (const auto& n : seen.hits) EXPECT_EQ(n, 300);
  EXPECT_EQ(seen.by_caller, 300);
}

TEST(Pool, OnEachIsRefusedWhereTheThreadsAreNotToBeHad) {
  const Pool pool = make(2);
  const HoneChunk nothing = [](int64_t, int64_t, int32_t, void*) -> int32_t { return HONE_OK; };
  EXPECT_EQ(run(pool, 1, 1, 0,
                [&](int64_t, int64_t, int32_t) { return hone_internal_pool_on_each(pool.get(), nothing, nullptr); }),
            HONE_PANIC);
  EXPECT_EQ(in_child([&] { return hone_internal_pool_on_each(pool.get(), nothing, nullptr) == HONE_PANIC ? 0 : 1; }),
            0);
  EXPECT_EQ(hone_internal_pool_on_each(pool.get(), nothing, nullptr), HONE_OK);
}

TEST(Pool, AFreeWorkerClaimsWhatABusyOneLeaves) {
  const Pool pool = make(2);
  std::atomic<int> others{0};
  EXPECT_EQ(run(pool, 10, 2, 1,
                [&](int64_t begin, int64_t, int32_t) {
                  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
                  if (begin > 0) ++others;
                  while (begin == 0 && others < 9)
                    if (std::chrono::steady_clock::now() > late) return 5;
                  return 0;
                }),
            HONE_OK);
  EXPECT_EQ(others, 9);
}

TEST(Pool, PassesOnTheFirstErrorAndWorksOn) {
  const Pool pool = make(2);
  EXPECT_EQ(run(pool, 10, 2, 0, [](int64_t begin, int64_t, int32_t) { return begin > 0 ? 7 : 0; }), 7);
  std::atomic<int> ran{0};
  EXPECT_EQ(run(pool, 1000, 2, 1, [&](int64_t, int64_t, int32_t) { return ++ran, 9; }), 9);
  EXPECT_LE(ran, 2) << "an error ends the claims";
  EXPECT_EQ(run(pool, 10, 1, 0, [](int64_t, int64_t, int32_t) { return 3; }), 3) << "inline";
  Counts c(10);
  EXPECT_EQ(run(pool, 10, 2, 0, counting(c)), HONE_OK);
  for (const auto& hits : c.hits) EXPECT_EQ(hits, 1);
}

TEST(Pool, RunsNestedRegionsInline) {
  const Pool pool = make(2), other = make(2);
  for (const int32_t outer_workers : {1, 2}) {  // 1: the outer is inline, too
    Counts c(50);
    std::atomic<int> elsewhere{0};
    EXPECT_EQ(run(pool, 4, outer_workers, 0,
                  [&](int64_t begin, int64_t end, int32_t) {
                    const auto thread = std::this_thread::get_id();
                    for (int64_t i = begin; i < end; ++i) {
                      // Through another pool, too: its threads may run chunks, and what they call of this one is
                      // inline.
                      run(other, 2, 2, 0, [&](int64_t, int64_t, int32_t) {
                        const auto here = std::this_thread::get_id();
                        return run(pool, 1, 2, 0, [&](int64_t, int64_t, int32_t) {
                          elsewhere += here != std::this_thread::get_id();
                          return 0;
                        });
                      });
                      run(pool, 50, 2, 0, [&](int64_t b, int64_t e, int32_t worker) {
                        elsewhere += thread != std::this_thread::get_id();
                        return c(b, e, worker);
                      });
                    }
                    return 0;
                  }),
              HONE_OK);
    for (const auto& hits : c.hits) EXPECT_EQ(hits, 4);
    EXPECT_EQ(c.highest_worker, 0);
    EXPECT_EQ(elsewhere, 0);
  }
}

TEST(Pool, ServesManyCallersAtOnce) {
  const Pool pool = make(3);
  std::vector<std::unique_ptr<Counts>> counts;
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) counts.push_back(std::make_unique<Counts>(100));
  for (auto& c : counts)
    callers.emplace_back([&pool, counts = c.get()] {
      for (int i = 0; i < 500; ++i)
        EXPECT_EQ(run(pool, 100, 3, i % 3 * 7,
                      [counts, i](int64_t b, int64_t e, int32_t worker) {
                        (*counts)(b, e, worker);
                        return i % 50 == 0 ? 11 : 0;
                      }) != 0,
                  i % 50 == 0);
    });
  for (std::thread& t : callers) t.join();
  for (const auto& c : counts) {
    for (const auto& hits : c->hits) EXPECT_GE(hits, 490);
    EXPECT_LT(c->highest_worker, 3);
  }
}

TEST(Pool, RefusesWhatItCannotMake) {
  errno = 0;
  EXPECT_FALSE(make(-1));
  EXPECT_EQ(errno, EINVAL);
  errno = 0;
  EXPECT_FALSE(make(HONE_POOL_MOST_THREADS + 1));
  EXPECT_EQ(errno, EINVAL);
  hone_internal_pool_free(nullptr);  // does nothing
}

// In a child, which may limit itself: the system makes no more threads, and those that were made are gone.
TEST(Pool, IsNullWhereThreadsCannotBeMade) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers need more memory than the limit";
#endif
  EXPECT_EQ(in_child([] {
              const rlimit few{256 << 20, 256 << 20};  // the stacks of some threads, not of a thousand
              if (setrlimit(RLIMIT_AS, &few) != 0) return 9;
              errno = 0;
              if (hone_internal_pool_new(HONE_POOL_MOST_THREADS) != nullptr) return 1;
              if (errno != EAGAIN && errno != ENOMEM) return 2;
              if (!has_threads(1)) return 3;
              sigset_t mask;
              pthread_sigmask(SIG_SETMASK, nullptr, &mask);
              return sigismember(&mask, SIGUSR1) ? 4 : 0;
            }),
            0);
}

TEST(Pool, FreeingEndsItsThreads) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer has threads of its own";
#endif
  EXPECT_EQ(in_child([] {
              for (int i = 0; i < 20; ++i) {
                const Pool pool = make(4);
                if (!has_threads(4)) return 1;
                Counts c(8);
                if (i % 2) run(pool, 8, 4, 0, counting(c));
              }
              return has_threads(1) ? 0 : 2;
            }),
            0);
}

// Threads as asked by 0, and where they are.
TEST(Pool, ObeysTheAffinityMask) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(make(0)->workers, CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  {
    EXPECT_EQ(make(0)->workers, 1);
    const Pool pool = make(3);  // more than there are CPUs: it ends none the less
    std::atomic<int> elsewhere{0};
    for (int i = 0; i < 300; ++i)
      ASSERT_EQ(run(pool, 3, 3, 0, [&](int64_t, int64_t, int32_t) { return elsewhere += sched_getcpu() != first, 0; }),
                HONE_OK);
    EXPECT_EQ(elsewhere, 0);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

std::atomic<int> g_signals{0}, g_on_others{0};
pthread_t g_main;

TEST(Pool, ItsThreadsTakeNoSignals) {
  g_main = pthread_self();
  struct sigaction action = {}, before;
  action.sa_handler = [](int) {
    ++g_signals;
    if (!pthread_equal(pthread_self(), g_main)) ++g_on_others;
  };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  const Pool pool = make(4);
  sigset_t usr1, was;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  // While this thread blocks it the signal stays with the process: no other thread is there to take it.
  pthread_sigmask(SIG_BLOCK, &usr1, &was);
  EXPECT_FALSE(sigismember(&was, SIGUSR1)) << "making a pool leaves the caller's mask as it was";
  kill(getpid(), SIGUSR1);
  std::atomic<int> blocked{0}, others{0};
  for (int i = 0; i < 100; ++i) {
    Meeting meeting;
    run(pool, 4, 4, 0, [&](int64_t, int64_t, int32_t) {
      meeting.begin();
      if (pthread_equal(pthread_self(), g_main)) return 0;
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      ++others;
      blocked += sigismember(&mask, SIGUSR1) && sigismember(&mask, SIGINT) && sigismember(&mask, SIGTERM);
      return 0;
    });
  }
  EXPECT_GE(others, 100);
  EXPECT_EQ(blocked, others);
  EXPECT_EQ(g_signals, 0);
  pthread_sigmask(SIG_SETMASK, &was, nullptr);
  EXPECT_EQ(g_signals, 1);
  EXPECT_EQ(g_on_others, 0);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Pool, RunsInlineInAChildOfFork) {
  for (const bool asleep : {false, true}) {
    Pool pool = make(3);
    Counts c(10);
    run(pool, 10, 3, 0, counting(c));
    if (asleep) std::this_thread::sleep_for(std::chrono::milliseconds(20));  // longer than idle threads stay awake
    EXPECT_EQ(in_child([&] {
                Counts here(10);
                for (const int64_t grain : {0, 2})
                  if (run(pool, 10, 3, grain, counting(here)) != HONE_OK) return 1;
                if (here.highest_worker != 0) return 2;
                for (const auto& hits : here.hits)
                  if (hits != 2) return 3;
                pool.reset();
                return 0;
              }),
              0);
    run(pool, 10, 3, 0, counting(c));  // the parent's is as it was
    for (const auto& hits : c.hits) EXPECT_EQ(hits, 2);
    EXPECT_EQ(c.highest_worker, 2);
  }
}

// The pool's threads are in the midst of something when the child is made.
TEST(Pool, AChildOfForkIsRightWhileRegionsRun) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's own locks are held in the child";
#endif
  Pool pool = make(2);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    Counts c(16);
    while (!stop) run(pool, 16, 2, 1, counting(c));
  });
  for (int i = 0; i < 30; ++i)
    EXPECT_EQ(in_child([&] {
                std::atomic<int> sum{0};
                const int32_t code = run(pool, 16, 2, 0, [&](int64_t begin, int64_t end, int32_t) {
                  return sum += static_cast<int>(end - begin), 0;
                });
                return code == 0 && sum == 16 ? 0 : 1;
              }),
              0);
  stop = true;
  other.join();
}

TEST(Pool, AChildOfForkMakesPoolsOfItsOwn) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer refuses threads of such a child";
#endif
  const Pool pool = make(2);
  EXPECT_EQ(in_child([] {
              const Pool own = make(2);
              Counts c(10);
              if (!own || run(own, 10, 2, 0, counting(c)) != HONE_OK) return 1;
              return c.highest_worker == 1 ? 0 : 2;
            }),
            0);
}

// It stays awake for 200 us at most: in the long run an idle pool costs nothing.
TEST(Pool, SleepsWhenItIsIdle) {
  const Pool pool = make(4);
  Counts c(4);
  for (int i = 0; i < 10; ++i) run(pool, 4, 4, 0, counting(c));
  const auto used = [] {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double before = used();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(used() - before, 0.1) << "three threads that stay awake would use as much as the machine has";
}

}  // namespace
}  // namespace hone
