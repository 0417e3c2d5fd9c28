#include "rpc/agent/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace hone::agent {
namespace {

// Runs `body` in a child; its return value is the exit code.
template <class Body>
int in_child(const Body& body) {
  const pid_t pid = fork();
  if (pid == 0) _exit(body());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool denied(long result) { return result < 0 && errno == EPERM; }

class FilterTest : public ::testing::TestWithParam<bool> {
 protected:
  FilterTest() : filter_(GetParam() ? SyscallFilter::for_candidate() : SyscallFilter::for_builder()) {}
  void SetUp() override {
    if (!filter_.available()) GTEST_SKIP() << "this build or this kernel has no seccomp";
  }
  SyscallFilter filter_;
};

TEST_P(FilterTest, DeniesNetworkProcessesAndTracing) {
  const int code = in_child([&] {
    enter_sandbox();
    if (!filter_.apply()) return 1;
    if (!denied(socket(AF_INET, SOCK_STREAM, 0))) return 2;
    if (!denied(fork())) return 3;
    if (char* const argv[] = {nullptr}; !denied(execve("/bin/true", argv, argv))) return 4;
    if (!denied(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr))) return 5;
    if (!denied(kill(getppid(), 0))) return 6;
    return 0;
  });
  EXPECT_EQ(code, 0);
}

TEST_P(FilterTest, AllowsThreadsAndMemory) {
  const int code = in_child([&] {
    enter_sandbox();
    if (!filter_.apply()) return 1;
    int x = 0;
    std::thread([&] { x = 1; }).join();
    if (x != 1) return 2;
    void* map = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return map == MAP_FAILED ? 3 : 0;
  });
  EXPECT_EQ(code, 0);
}

INSTANTIATE_TEST_SUITE_P(Sandbox, FilterTest, ::testing::Bool(), [](const auto& i) { return i.param ? "Candidate" : "Builder"; });

TEST(Sandbox, ACandidateOpensNoFiles) {
  const SyscallFilter filter = SyscallFilter::for_candidate();
  if (!filter.available()) GTEST_SKIP() << "this build or this kernel has no seccomp";
  EXPECT_EQ(in_child([&] {
              enter_sandbox();
              if (!filter.apply()) return 1;
              return denied(open("/etc/hostname", O_RDONLY)) ? 0 : 2;
            }),
            0);
}

TEST(Sandbox, LimitsStopAllocationAndTime) {
  EXPECT_EQ(in_child([] {
              set_limits({.address_space = 1 << 30});
              return mmap(nullptr, size_t{2} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 0 : 1;
            }),
            0);
}

}  // namespace
}  // namespace hone::agent
