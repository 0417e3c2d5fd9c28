#include "base/host_lock.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace hone {
namespace {

class HostLockTest : public ::testing::Test {
 protected:
  HostLock open() {
    StatusOr<HostLock> lock = HostLock::open(path_);
    EXPECT_TRUE(lock.ok()) << lock.status();
    return std::move(*lock);
  }
  ~HostLockTest() override {
    unlink(path_.c_str());
    unlink((path_ + ".next").c_str());
  }
  const std::string path_ = ::testing::TempDir() + "hone-lock-test-" + std::to_string(getpid());
};

TEST_F(HostLockTest, SharedHoldersStandTogetherAndKeepTheExclusiveOut) {
  HostLock a = open(), b = open(), c = open();
  HostLock::Hold first = a.shared(), second = b.shared();
  EXPECT_FALSE(c.try_exclusive().held());
  first.release();
  EXPECT_FALSE(c.try_exclusive().held());
  second.release();
  EXPECT_TRUE(c.try_exclusive().held());
}

TEST_F(HostLockTest, ExclusiveHoldersNeverOverlapWithAnyone) {
  std::atomic<int> exclusive{0}, shared{0};
  std::atomic<bool> overlap{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      HostLock lock = open();
      for (int i = 0; i < 200; ++i) {
        const HostLock::Hold hold = lock.exclusive();
        if (++exclusive != 1 || shared != 0) overlap = true;
        --exclusive;
      }
    });
    threads.emplace_back([&] {
      HostLock lock = open();
      for (int i = 0; i < 200; ++i) {
        const HostLock::Hold hold = lock.shared();
        ++shared;
        if (exclusive != 0) overlap = true;
        --shared;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_FALSE(overlap);
}

// Two shared holders that always overlap would keep an exclusive waiter out for ever if newcomers were let in before
// it.
TEST_F(HostLockTest, ExclusiveWaiterIsNotStarvedBySharedHolders) {
  std::atomic<bool> done{false};
  std::atomic<int> turn{0};
  std::vector<std::thread> threads;
  for (int me = 0; me < 2; ++me) {
    threads.emplace_back([&, me] {
      HostLock lock = open();
      while (!done) {
        const HostLock::Hold hold = lock.shared();
        turn = me;
        // Hold on until the other has come in too, unless it cannot because somebody waits.
        for (int spin = 0; spin < 1000 && turn == me && !done; ++spin) std::this_thread::yield();
      }
    });
  }
  {
    HostLock lock = open();
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(lock.exclusive().held());
  }
  done = true;
  for (std::thread& t : threads) t.join();
}

TEST_F(HostLockTest, IsFreedWhenItsHolderIsKilled) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    StatusOr<HostLock> lock = HostLock::open(path_);
    const HostLock::Hold hold = lock->exclusive();
    if (write(ready[1], "x", 1) != 1) _exit(1);
    pause();
  }
  char c;
  ASSERT_EQ(read(ready[0], &c, 1), 1);
  HostLock mine = open();
  EXPECT_FALSE(mine.try_exclusive().held());
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_TRUE(mine.exclusive().held());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(HostLockTest, SaysWhichFileCannotBeOpened) {
  const StatusOr<HostLock> lock = HostLock::open("/nonexistent/lock");
  ASSERT_FALSE(lock.ok());
  EXPECT_THAT(message_of(lock.status()), ::testing::HasSubstr("/nonexistent/lock"));
}

}  // namespace
}  // namespace hone
