#include "base/host_lock.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
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
  const StatusOr<HostLock> lock = HostLock::open("/nonexistent/lock");
  ASSERT_FALSE(lock.ok());
  EXPECT_THAT(message_of(lock.status()), ::testing::HasSubstr("/nonexistent/lock"));
  EXPECT_THAT(message_of(lock.status()), ::testing::HasSubstr("HONE_HOST_LOCK"));
  EXPECT_EQ(exit_code_of(lock.status()), kExitUsage) << "it is no bug";
}

class LockFolder : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  void make(const std::string& name, mode_t mode) {
    ASSERT_EQ(mkdir(path(name).c_str(), 0700), 0);
    ASSERT_EQ(chmod(path(name).c_str(), mode), 0);
  }
  void expect_refused(const LockPlaces& places, const std::string& why) {
    const StatusOr<std::string> found = lock_folder(places);
    ASSERT_FALSE(found.ok()) << *found;
    EXPECT_THAT(message_of(found.status()), ::testing::AllOf(::testing::HasSubstr(places.own + ": " + why),
                                                             ::testing::HasSubstr("HONE_HOST_LOCK")));
    EXPECT_EQ(exit_code_of(found.status()), kExitUsage);
  }
  mode_t mode_of(const std::string& name) const {
    struct stat info {};
    EXPECT_EQ(stat(path(name).c_str(), &info), 0);
    return info.st_mode & 07777;
  }

  const TemporaryFolder folder_;
};

TEST_F(LockFolder, IsTheSessionsElseTheUsersElseOneOfItsOwn) {
  const LockPlaces places{path("session"), path("runtime"), path("own")};
  EXPECT_EQ(lock_folder(places).value(), path("own"));
  EXPECT_EQ(mode_of("own"), 0700u);
  EXPECT_EQ(lock_folder(places).value(), path("own")) << "it is there already";
  make("runtime", 0700);
  EXPECT_EQ(lock_folder(places).value(), path("runtime"));
  EXPECT_EQ(lock_folder({"", places.runtime, places.own}).value(), path("runtime"))
      << "a program without a session shares the lock of those in one";
  make("session", 0700);
  EXPECT_EQ(lock_folder(places).value(), path("session"));
}

TEST_F(LockFolder, PassesOverASessionsFolderThatOthersMayWrite) {
  make("session", 0777);
  EXPECT_EQ(lock_folder({path("session"), "", path("own")}).value(), path("own"));
  EXPECT_EQ(lock_folder({"relative", "", path("own")}).value(), path("own"));
}

TEST_F(LockFolder, SomebodyElsesIsRefusedInOneLineThatSaysWhatHelps) {
  make("open", 0777);
  expect_refused({"", "", path("open")}, "others may write to it");
  std::ofstream(path("file")) << "in the way";
  expect_refused({"", "", path("file")}, "it is not a folder");
  make("mine", 0700);
  ASSERT_EQ(symlink(path("mine").c_str(), path("link").c_str()), 0);
  expect_refused({"", "", path("link")}, "it is not a folder");
  expect_refused({"", "", path("missing/own")}, "No such file");
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  make("given", 0700);
  ASSERT_EQ(chown(path("given").c_str(), 12345, 12345), 0);
  expect_refused({"", "", path("given")}, "it belongs to another user");
  EXPECT_EQ(lock_folder({path("given"), "", path("own")}).value(), path("own"));
}

TEST_F(LockFolder, TheVariableComesFirst) {
  const char* before = getenv("HONE_HOST_LOCK");
  const std::string kept = before ? before : "";
  setenv("HONE_HOST_LOCK", path("lock").c_str(), 1);
  EXPECT_EQ(HostLock::default_path().value(), path("lock"));
  if (before)
    setenv("HONE_HOST_LOCK", kept.c_str(), 1);
  else
    unsetenv("HONE_HOST_LOCK");
}

}  // namespace
}  // namespace hone
