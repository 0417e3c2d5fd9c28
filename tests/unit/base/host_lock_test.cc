#include "base/host_lock.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "base/exit_code.h"
#include "tests/fakes/temporary_folder.h"

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
  const StatusOr<HostLock> lock = HostLock::open("/nonexistent/deep/lock");
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(message_of(lock.status()),
            "cannot open the host lock /nonexistent/deep/lock: No such file or directory; the environment's "
            "HONE_HOST_LOCK names another file");
  EXPECT_EQ(exit_code_of(lock.status()), kExitUsage);
}

TEST(HostLockFolder, IsTheUsersOwn) {
  const TemporaryFolder temporary;
  const std::string open_to_all = temporary.path() + "/all", own = temporary.path() + "/own";
  ASSERT_EQ(mkdir(open_to_all.c_str(), 0700) + chmod(open_to_all.c_str(), 01777) + mkdir(own.c_str(), 0700), 0);
  ASSERT_EQ(symlink(own.c_str(), (temporary.path() + "/link").c_str()), 0);
  EXPECT_EQ(HostLock::default_path(
                {"", "run", temporary.path() + "/none", open_to_all, temporary.path() + "/link", own}, "/tmp/x"),
            own + "/hone-host.lock");
  EXPECT_EQ(HostLock::default_path({open_to_all}, "/tmp/x"), "/tmp/x/hone-host.lock");
}

TEST(HostLockFolder, IsMadeForTheUserAlone) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/hone-1";
  ASSERT_TRUE(HostLock::open(folder + "/lock").ok());
  struct stat info {};
  ASSERT_EQ(stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_TRUE(HostLock::open(folder + "/lock").ok());
}

TEST(HostLockFolder, WhatAnotherUserMadeIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes files of others";
  constexpr uid_t kOther = 4242;
  const TemporaryFolder temporary;
  const auto refusal = [](const std::string& path) { return message_of(HostLock::open(path).status()); };
  const std::string folder = temporary.path() + "/folder", link = temporary.path() + "/link";
  ASSERT_EQ(mkdir(folder.c_str(), 0777) + chown(folder.c_str(), kOther, kOther), 0);
  ASSERT_EQ(symlink("/tmp", link.c_str()) + lchown(link.c_str(), kOther, kOther), 0);
  for (const std::string& made : {folder, link})
    EXPECT_THAT(refusal(made + "/lock"),
                ::testing::HasSubstr(made + " is another user's; the environment's HONE_HOST"));
  for (const char* name : {"/lock", "/other.next"}) {
    const std::string file = temporary.path() + name;
    std::ofstream(file) << "";
    ASSERT_EQ(chown(file.c_str(), kOther, kOther) + chmod(file.c_str(), 0666), 0);
  }
  EXPECT_THAT(refusal(temporary.path() + "/lock"), ::testing::HasSubstr("it is another user's"));
  EXPECT_THAT(refusal(temporary.path() + "/other"), ::testing::HasSubstr("other.next: it is another user's"));
}

}  // namespace
}  // namespace hone
