// Each promise of the sandbox, broken on purpose in a child process that has the protections of builder, runner or
// candidate.
#include "rpc/agent/sandbox/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "rpc/agent/run/candidate.h"
#include "rpc/agent/sandbox/file_rules.h"
#include "rpc/agent/sandbox/syscall_filter.h"
#include "tests/unit/agent/in_child.h"

namespace hone::agent {
namespace {

bool denied(long result) { return result < 0 && (errno == EPERM || errno == EACCES); }
bool has(const std::vector<std::string>& missing, const std::string& what) {
  return std::find(missing.begin(), missing.end(), what) != missing.end();
}

class SandboxTest : public ::testing::TestWithParam<SandboxRole> {
 protected:
  SandboxTest() {
    std::string dir = ::testing::TempDir() + "hone-sandbox-XXXXXX";
    dir_ = mkdtemp(dir.data());
    std::filesystem::create_directory(scratch());
    std::ofstream(secret()) << "token";
    std::ofstream(scratch() + "/1.so") << "code";
  }
  ~SandboxTest() override { std::filesystem::remove_all(dir_); }

  void SetUp() override {
    if (kSanitizer) GTEST_SKIP() << "instrumented by a sanitizer, which needs what a sandbox takes away";
    const int code = in_child([&] {
      const std::vector<std::string> missing = put_on();
      return (has(missing, "landlock") ? 1 : 0) + (has(missing, "seccomp") ? 2 : 0) +
             (has(missing, "network namespace") ? 4 : 0);
    });
    files_ = (code & 1) == 0;
    calls_ = (code & 2) == 0;
    network_ = (code & 4) == 0;
  }

  std::string scratch() const { return dir_ + "/scratch"; }
  std::string secret() const { return dir_ + "/secret"; }
  const SandboxProfile& profile() const { return *sandbox_profile("llvm", GetParam()); }
  bool is(SandboxRole role) const { return GetParam() == role; }

  /// As the process of this role does; a candidate once its kernel is loaded.
  std::vector<std::string> put_on() const {
    std::vector<std::string> missing = enter_sandbox();
    const SyscallFilter loaded = SyscallFilter::no_more_loading();
    confine(profile(), scratch(), &missing);
    if (is(SandboxRole::kCandidate) && !loaded.apply()) missing.push_back("seccomp");
    return missing;
  }
  template <class Body>
  int sandboxed(const Body& body) const {
    return in_child([&] {
      put_on();
      return body();
    });
  }

  std::string dir_;
  bool files_ = false, calls_ = false, network_ = false;
};

#define NEEDS(protection) \
  if (!(protection)) GTEST_SKIP() << "this kernel or build does not have it: the agent says so at its start"

TEST_P(SandboxTest, DeniesNetworkProgramsAndTracing) {
  NEEDS(calls_);
  EXPECT_EQ(sandboxed([&] {
              if (!denied(socket(AF_INET, SOCK_STREAM, 0))) return 1;
              if (!denied(socket(AF_UNIX, SOCK_STREAM, 0))) return 2;
              if (char* const argv[] = {nullptr}; !denied(execve("/bin/true", argv, argv))) return 3;
              if (!denied(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr))) return 4;
              if (!denied(ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr))) return 5;
              if (!denied(syscall(SYS_process_vm_readv, getppid(), nullptr, 0, nullptr, 0, 0))) return 6;
              if (!denied(syscall(SYS_io_uring_setup, 1, nullptr))) return 7;
              if (!denied(syscall(SYS_bpf, 0, nullptr, 0))) return 8;
              if (!denied(syscall(SYS_unshare, 0x10000000))) return 9;
              if (!denied(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0))) return 10;
              return 0;
            }),
            0);
}

TEST_P(SandboxTest, DeniesSharedMemoryOfOthers) {
  NEEDS(calls_);
  const int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
  ASSERT_GE(id, 0);
  EXPECT_EQ(sandboxed([&] {
              return denied(syscall(SYS_shmget, IPC_PRIVATE, 4096, IPC_CREAT)) &&
                             denied(syscall(SYS_shmat, id, nullptr, 0))
                         ? 0
                         : 1;
            }),
            0);
  shmctl(id, IPC_RMID, nullptr);
  EXPECT_EQ(sandboxed([] { return opens("/dev/shm/hone-sandbox-test", O_RDWR | O_CREAT) ? 1 : 0; }), 0);
}

TEST_P(SandboxTest, SignalsNobodyOutside) {
  NEEDS(calls_ && (landlock_abi() >= 6 || !is(SandboxRole::kRunner)));
  EXPECT_EQ(sandboxed([] {
              if (!denied(kill(getppid(), 0)) || !denied(kill(-getpgrp(), 0))) return 1;
              return denied(syscall(SYS_tgkill, getppid(), getppid(), 0)) ? 0 : 2;
            }),
            0);
}

// Limits and cores are the user's to set, for every process of that user; so is whom a file's signals go to.
TEST_P(SandboxTest, ChangesNothingOfOtherProcesses) {
  NEEDS(calls_);
  EXPECT_EQ(sandboxed([] {
              rlimit limit{};
              cpu_set_t cores;
              CPU_ZERO(&cores);
              CPU_SET(0, &cores);
              int changed = denied(syscall(SYS_prlimit64, getppid(), RLIMIT_CORE, nullptr, &limit)) ? 0 : 1;
              changed += denied(syscall(SYS_sched_setaffinity, getppid(), sizeof cores, &cores)) ? 0 : 2;
              changed += denied(fcntl(0, F_SETOWN, getppid())) ? 0 : 4;
              return changed + (denied(fcntl(0, F_SETSIG, SIGKILL)) ? 0 : 8);
            }),
            0);
  EXPECT_EQ(sandboxed([] { return pin_this_thread(allowed_cpus().front()) ? 0 : 1; }), 0)
      << "its own threads it may pin";
}

// A fork bomb does not get off the ground, nor one of threads, where none are needed.
TEST_P(SandboxTest, StartsWhatItsRoleNeeds) {
  NEEDS(calls_);
  const bool children = profile().may(SyscallGroup::kChildren), threads = profile().may(SyscallGroup::kThreads);
  EXPECT_EQ(children, is(SandboxRole::kRunner));
  EXPECT_EQ(sandboxed([&] {
              const pid_t pid = fork();
              if (pid == 0) _exit(7);
              if (!children) return denied(pid) ? 0 : 1;
              int status = 0;
              return pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid ? 0 : 2;
            }),
            0);
  EXPECT_EQ(sandboxed([&] {
              int x = 0;
              try {
                std::thread([&] { x = 1; }).join();
              } catch (const std::system_error&) {
              }
              return (x == 1) == threads ? 0 : 1;
            }),
            0);
  EXPECT_EQ(sandboxed([] {
              return denied(syscall(SYS_clone, 0x10000000 | SIGCHLD, nullptr, nullptr, nullptr, nullptr)) ? 0 : 1;
            }),
            0)
      << "a user namespace";
}

TEST_P(SandboxTest, SeesNoFilesOfTheUser) {
  NEEDS(files_);
  EXPECT_EQ(sandboxed([&] {
              if (opens(secret()) || opens(secret(), O_WRONLY) || opens(dir_ + "/new", O_WRONLY | O_CREAT)) return 1;
              if (opens("/etc/passwd") || opens("/tmp") || opens("/root") || opens("/home")) return 2;
              if (unlink(secret().c_str()) == 0 || rename(secret().c_str(), (scratch() + "/x").c_str()) == 0) return 3;
              if (link(secret().c_str(), (scratch() + "/x").c_str()) == 0 ||
                  symlink(secret().c_str(), (scratch() + "/y").c_str()) == 0)
                return 4;
              if (truncate(secret().c_str(), 0) == 0 || mkdir((dir_ + "/d").c_str(), 0700) == 0) return 5;
              return 0;
            }),
            0);
  EXPECT_EQ(std::filesystem::file_size(secret()), 5U);
}

TEST_P(SandboxTest, UsesItsScratchFolderAsItsRoleNeeds) {
  NEEDS(files_ && calls_);
  EXPECT_EQ(sandboxed([&] {
              const std::string old_file = scratch() + "/1.so", new_file = scratch() + "/2.so";
              switch (GetParam()) {
                case SandboxRole::kBuilder:
                  if (!opens(new_file, O_WRONLY | O_CREAT) || rename(new_file.c_str(), old_file.c_str()) != 0 ||
                      unlink(old_file.c_str()) != 0)
                    return 1;
                  if (mkdir((scratch() + "/d").c_str(), 0700) == 0 ||
                      mknod((scratch() + "/f").c_str(), S_IFIFO | 0600, 0) == 0)
                    return 2;
                  return opens("/usr/lib") && !opens("/usr/lib/hone-new", O_WRONLY | O_CREAT) ? 0 : 3;
                case SandboxRole::kRunner:
                  return opens(old_file) && !opens(old_file, O_WRONLY) && !opens(new_file, O_WRONLY | O_CREAT) ? 0 : 4;
                case SandboxRole::kCandidate:
                  return opens(old_file) || opens(new_file, O_WRONLY | O_CREAT) || opens("/usr/lib") ? 5 : 0;
              }
              return 6;
            }),
            0);
}

// While it loads its kernel it reads that, and libraries, and nothing else.
TEST_P(SandboxTest, ACandidateThatLoadsReadsItsFolder) {
  if (!is(SandboxRole::kCandidate)) GTEST_SKIP() << "only candidates have this limit";
  NEEDS(files_ && calls_);
  EXPECT_EQ(in_child([&] {
              std::vector<std::string> missing = enter_sandbox();
              confine(profile(), scratch(), &missing);
              if (!opens(scratch() + "/1.so") || !opens("/usr/lib")) return 1;
              if (opens(scratch() + "/1.so", O_RDWR) || opens(scratch() + "/2.so", O_WRONLY | O_CREAT)) return 2;
              return opens("/proc/self/environ") || opens("/etc/hostname") ? 3 : 0;
            }),
            0);
}

TEST_P(SandboxTest, ReadsNoMemoryOfItsParent) {
  NEEDS(files_);
  EXPECT_EQ(sandboxed([] {
              const std::string parent = fmt::format("/proc/{}/", getppid());
              return opens(parent + "environ") || opens(parent + "mem") || opens(parent + "maps") ||
                             opens(parent + "fd/0") || opens(parent + "root/etc/passwd")
                         ? 1
                         : 0;
            }),
            0);
}

// Without the help of the system call filter or the network namespace.
TEST_P(SandboxTest, ReachesNoAbstractSocket) {
  NEEDS(files_ && landlock_abi() >= 6);
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{AF_UNIX, {}};
  const std::string name = fmt::format("hone-sandbox-{}", getpid());
  name.copy(address.sun_path + 1, name.size());
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  ASSERT_EQ(bind(server, reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(server, 1), 0);
  const auto connects = [&] {
    return connect(socket(AF_UNIX, SOCK_STREAM, 0), reinterpret_cast<const sockaddr*>(&address), size) == 0;
  };
  EXPECT_EQ(in_child([&] { return connects() ? 0 : 1; }), 0);
  EXPECT_EQ(in_child([&] {
              prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
              return FileRules(profile(), scratch()).apply() && !connects() ? 0 : 1;
            }),
            0);
  close(server);
}

TEST_P(SandboxTest, HasNamespacesOfItsOwn) {
  NEEDS(network_);
  const auto name_of = [](const char* path) {
    char text[64] = {};
    return readlink(path, text, sizeof text - 1) > 0 ? std::string(text) : "";
  };
  for (const char* space : {"/proc/self/ns/net", "/proc/self/ns/ipc"}) {
    const std::string ours = name_of(space);
    ASSERT_NE(ours, "");
    EXPECT_EQ(in_child([&] {
                enter_sandbox();
                const std::string theirs = name_of(space);
                return theirs != "" && theirs != ours ? 0 : 1;
              }),
              0)
        << space;
  }
}

TEST_P(SandboxTest, HasNoPowers) {
  EXPECT_EQ(sandboxed([] {
              __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
              __user_cap_data_struct data[2] = {};
              // capget may be denied: then the kernel's own words, from before.
              if (syscall(SYS_capget, &header, data) == 0 &&
                  (data[0].effective | data[1].effective | data[0].permitted | data[1].permitted) != 0)
                return 1;
              if (setpriority(PRIO_PROCESS, 0, -5) == 0) return 2;
              if (setuid(1234) == 0) return 3;
              rlimit limit{};
              limit.rlim_cur = limit.rlim_max = RLIM_INFINITY;
              if (setrlimit(RLIMIT_CORE, &limit) == 0) return 4;
              return setrlimit(RLIMIT_FSIZE, &limit) == 0 ? 5 : 0;
            }),
            0);
  EXPECT_EQ(in_child([] {
              enter_sandbox();
              __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
              __user_cap_data_struct data[2] = {};
              if (syscall(SYS_capget, &header, data) != 0) return 1;
              return (data[0].effective | data[1].effective | data[0].permitted | data[1].permitted |
                      data[0].inheritable) == 0
                         ? 0
                         : 2;
            }),
            0);
}

TEST_P(SandboxTest, LeavesNoCoreAndDiesFirstWithoutMemory) {
  EXPECT_EQ(in_child([] {
              enter_sandbox();
              rlimit limit{};
              if (getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_max != 0) return 1;
              if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return 2;
              int score = 0;
              return std::ifstream("/proc/self/oom_score_adj") >> score && score == 1000 ? 0 : 3;
            }),
            0);
}

TEST_P(SandboxTest, WritesSmallFilesOnly) {
  NEEDS(files_ && calls_);
  if (!is(SandboxRole::kBuilder)) GTEST_SKIP() << "the others write none";
  EXPECT_EQ(sandboxed([&] {
              signal(SIGXFSZ, SIG_IGN);
              const int fd = open((scratch() + "/big").c_str(), O_WRONLY | O_CREAT, 0600);
              const int memory = memfd_create("big", 0);
              const off_t much = static_cast<off_t>(profile().file_bytes);
              if (pwrite(fd, "x", 1, much - 1) != 1 || pwrite(fd, "x", 1, much) >= 0 || errno != EFBIG) return 1;
              return pwrite(memory, "x", 1, much) >= 0 || ftruncate(memory, much + 1) == 0 ? 2 : 0;
            }),
            0);
  EXPECT_EQ(sandboxed([&] {
              for (uint64_t i = 0; i < profile().open_files; ++i)
                if (memfd_create("many", 0) < 0) return errno == EMFILE ? 0 : 1;
              return 2;
            }),
            0);
}

TEST_P(SandboxTest, MakesNoNewCode) {
  if (!is(SandboxRole::kCandidate)) GTEST_SKIP() << "only loaded candidates have this limit";
  NEEDS(calls_);
  EXPECT_EQ(sandboxed([] {
              void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              if (page == MAP_FAILED) return 1;
              if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0) return 2;
              return mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 0
                                                                                                                  : 3;
            }),
            0);
}

// A kernel's loops run on threads: a right of one of them would be a right of all.
TEST_P(SandboxTest, HoldsForEveryThreadOfACandidate) {
  if (!is(SandboxRole::kCandidate)) GTEST_SKIP() << "only candidates have this limit";
  NEEDS(files_ && calls_);
  EXPECT_EQ(in_child([&] {
              std::vector<std::string> missing = enter_sandbox();
              const Confinement confinement{FileRules(profile(), scratch()), SyscallFilter::for_profile(profile()),
                                            SyscallFilter::no_more_loading()};
              confine(*sandbox_profile("llvm", SandboxRole::kRunner), scratch(), &missing);
              return in_child([&] {
                ThreadPool pool({.workers = 2});
                if (!confine_threads(confinement, &pool)) return 1;
                const auto reach = [](int64_t begin, int64_t, int32_t, void* reached) {
                  const bool signals = !denied(syscall(SYS_tgkill, getppid(), getppid(), 0));
                  static_cast<int*>(reached)[begin] = (opens("/proc/self/stat") ? 2 : 0) + (signals ? 4 : 0);
                  return int32_t{0};
                };
                int reached[2] = {};
                pool.parallel_for(reach, reached, 2, 2);
                return reached[0] + 10 * reached[1];
              });
            }),
            0);
}

// Profiles of GPUs too, although this machine may have none.
TEST(SandboxProfiles, EachAllowsWhatItsRowSaysAndNothingElse) {
  if (kSanitizer) GTEST_SKIP() << "instrumented by a sanitizer, which needs what a sandbox takes away";
  for (const SandboxProfile& profile : sandbox_profiles()) {
    EXPECT_EQ(sandbox_profile(profile.kind, profile.role), &profile);
    EXPECT_EQ(in_child([&] {
                std::vector<std::string> missing = enter_sandbox();
                confine(profile, "", &missing);
                if (has(missing, "seccomp")) return 0;
                if (!denied(socket(AF_INET, SOCK_STREAM, 0)) || !denied(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)))
                  return 1;
                // Without a program: an allowed call says that there is none.
                if (char* const argv[] = {nullptr};
                    denied(execve("/no/such", argv, argv)) == profile.may(SyscallGroup::kPrograms))
                  return 2;
                // Without a descriptor: an allowed call says so.
                if (denied(syscall(SYS_ioctl, -1, 0, 0)) == profile.may(SyscallGroup::kDevice)) return 3;
                if (denied(syscall(SYS_flock, -1, 0)) == profile.may(SyscallGroup::kHostLock)) return 4;
                if (denied(syscall(SYS_kill, getpid(), 0)) == profile.may(SyscallGroup::kChildren)) return 5;
                return denied(syscall(SYS_ftruncate, -1, 0)) ==
                               (profile.may(SyscallGroup::kFiles) || profile.may(SyscallGroup::kMemory))
                           ? 6
                           : 0;
              }),
              0)
        << profile.kind << ", role " << static_cast<int>(profile.role);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, SandboxTest,
                         ::testing::Values(SandboxRole::kBuilder, SandboxRole::kRunner, SandboxRole::kCandidate),
                         [](const auto& info) {
                           return info.param == SandboxRole::kBuilder  ? "Builder"
                                  : info.param == SandboxRole::kRunner ? "Runner"
                                                                       : "Candidate";
                         });

TEST(Limits, StopAllocation) {
  if (kSanitizer) GTEST_SKIP() << "sanitizers reserve terabytes";
  EXPECT_EQ(in_child([] {
              set_limits({.address_space = 1 << 30});
              return mmap(nullptr, size_t{2} << 30, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? 0
                                                                                                                 : 1;
            }),
            0);
}

TEST(Limits, StopWhatSpins) {
  EXPECT_EQ(in_child([]() -> int {
              set_limits({.address_space = 0, .cpu_seconds = 1});
              for (volatile int i = 0;;) {
                (void)i;
              }
            }),
            1000 + SIGKILL);
}

TEST(Limits, MappedBytesGrowWithWhatIsMapped) {
  const MappedBytes mapped;
  const uint64_t before = mapped.now();
  void* map = mmap(nullptr, size_t{64} << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  EXPECT_GE(mapped.now(), before + (uint64_t{64} << 20));
  munmap(map, size_t{64} << 20);
}

TEST(CloseOthers, LeavesTwo) {
  EXPECT_EQ(in_child([] {
              const int kept = dup(0), closed = dup(0), also = dup(0), high = fcntl(0, F_DUPFD, 200);
              close_others(kept, also);
              const auto is_open = [](int fd) { return fcntl(fd, F_GETFD) >= 0; };
              if (!is_open(kept) || !is_open(also) || !is_open(0)) return 1;
              return is_open(closed) || is_open(high) ? 2 : 0;
            }),
            0);
}

// GPUs' drivers reserve far more addresses than they use, open their nodes and call ioctl. Only those that compile for
// the host's cores start a program, their linker.
TEST(SandboxProfile, HasARowForEveryProcess) {
  for (const std::string_view gpu : {"cuda", "opencl"}) {
    const SandboxProfile* candidates = sandbox_profile(gpu, SandboxRole::kCandidate);
    ASSERT_NE(candidates, nullptr);
    EXPECT_EQ(candidates->memory, MemoryMeasure::kResident);
    EXPECT_GT(candidates->memory_bytes, 0U);
    EXPECT_TRUE(candidates->may(SyscallGroup::kDevice));
    EXPECT_FALSE(candidates->may(SyscallGroup::kMemory));
    EXPECT_FALSE(candidates->may(SyscallGroup::kHostLock));
    EXPECT_EQ(candidates->may(SyscallGroup::kPrograms), gpu == "opencl");
    std::vector<std::string> nodes = {"/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia7", "/dev/nvidia15"};
    if (gpu == "cuda") nodes.insert(nodes.end(), {"/dev/nvmap", "/dev/nvhost-gpu", "/dev/nvgpu"});
    for (const std::string& node : nodes)
      EXPECT_NE(std::find(candidates->devices.begin(), candidates->devices.end(), node), candidates->devices.end())
          << node;
    // The runner's restrictions hold for the processes that it forks.
    const SandboxProfile* runner = sandbox_profile(gpu, SandboxRole::kRunner);
    ASSERT_NE(runner, nullptr);
    for (const SyscallGroup group : candidates->calls) EXPECT_TRUE(runner->may(group)) << static_cast<int>(group);
    EXPECT_TRUE(std::equal(candidates->devices.begin(), candidates->devices.end(), runner->devices.begin(),
                           runner->devices.end()));
    EXPECT_TRUE(
        std::equal(candidates->reads.begin(), candidates->reads.end(), runner->reads.begin(), runner->reads.end()));
    EXPECT_TRUE(runner->may(SyscallGroup::kChildren));
    ASSERT_NE(sandbox_profile(gpu, SandboxRole::kBuilder), nullptr);
    EXPECT_TRUE(sandbox_profile(gpu, SandboxRole::kBuilder)->devices.empty());
  }
  for (const SandboxRole role : {SandboxRole::kBuilder, SandboxRole::kRunner, SandboxRole::kCandidate}) {
    const SandboxProfile* cpu = sandbox_profile("llvm", role);
    ASSERT_NE(cpu, nullptr);
    EXPECT_EQ(cpu->memory, MemoryMeasure::kAddressSpace);
    EXPECT_TRUE(cpu->devices.empty());
    EXPECT_FALSE(cpu->may(SyscallGroup::kDevice));
  }
}

// A GPU's driver on a machine without one: the row can be put on, its nodes and calls are allowed, and the rest is
// denied as elsewhere.
TEST(SandboxProfile, OfAGpuCanBePutOn) {
  if (kSanitizer) GTEST_SKIP() << "instrumented by a sanitizer";
  EXPECT_EQ(
      in_child([] {
        std::vector<std::string> missing = enter_sandbox();
        confine(*sandbox_profile("cuda", SandboxRole::kCandidate), "", &missing);
        // Terabytes of addresses, as drivers reserve them.
        if (mmap(nullptr, size_t{1} << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
          return 1;
        if (!has(missing, "landlock") && opens("/etc/passwd")) return 2;
        return has(missing, "seccomp") || denied(socket(AF_INET, SOCK_STREAM, 0)) ? 0 : 3;
      }),
      0);
}

// NVIDIA's driver was seen to do this when it starts, in a process that the runner forked.
TEST(SandboxProfile, OfAGpuLetsTheDriverStart) {
  if (kSanitizer) GTEST_SKIP() << "instrumented by a sanitizer";
  const std::string scratch = ::testing::TempDir() + "hone-driver-" + std::to_string(getpid());
  std::filesystem::create_directory(scratch);
  EXPECT_EQ(in_child([&] {
              std::vector<std::string> missing = enter_sandbox();
              const PreparedSandbox candidate(*sandbox_profile("cuda", SandboxRole::kCandidate), scratch);
              confine(*sandbox_profile("cuda", SandboxRole::kRunner), scratch, &missing);
              return in_child([&] {
                candidate.apply(&missing);
                std::string own;
                std::thread([&] {
                  own = "/proc/self/task/" + std::to_string(syscall(SYS_gettid)) + "/comm";
                  FILE* comm = std::fopen(own.c_str(), "w");
                  if (!comm || std::fputs("driver", comm) < 0 || std::fclose(comm) != 0) own.clear();
                }).join();
                if (own.empty()) return 1;
                if (sched_get_priority_max(SCHED_RR) < 0) return 2;
                if (mkdir((scratch + "/.nv").c_str(), 0700) != 0) return 3;
                const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
                sockaddr_un name{};
                name.sun_family = AF_UNIX;
                const std::string text = "cuda-uvmfd-" + std::to_string(getpid());
                text.copy(name.sun_path + 1, text.size());
                const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
                if (bind(fd, reinterpret_cast<sockaddr*>(&name), bytes) != 0 || listen(fd, 8) != 0) return 4;
                return 0;
              });
            }),
            0);
  std::filesystem::remove_all(scratch);
}

// ... and no more than that.
TEST(SandboxProfile, OfAGpuReachesNoOtherProcess) {
  if (kSanitizer) GTEST_SKIP() << "instrumented by a sanitizer";
  EXPECT_EQ(in_child([] {
              std::vector<std::string> missing = enter_sandbox();
              const std::string other = "/proc/" + std::to_string(getpid());
              const PreparedSandbox candidate(*sandbox_profile("cuda", SandboxRole::kCandidate), "");
              confine(*sandbox_profile("cuda", SandboxRole::kRunner), "", &missing);
              return in_child([&] {
                candidate.apply(&missing);
                if (!has(missing, "landlock")) {
                  for (const std::string& file : {other + "/comm", other + "/oom_score_adj", other + "/mem",
                                                  std::string("/proc/sys/kernel/core_pattern")})
                    if (opens(file, O_WRONLY)) return 1;
                }
                if (has(missing, "seccomp")) return 0;
                sockaddr_un name{};
                name.sun_family = AF_UNIX;
                std::string("/run/daemon").copy(name.sun_path, sizeof name.sun_path - 1);
                if (!denied(connect(0, reinterpret_cast<sockaddr*>(&name), sizeof name))) return 2;
                for (const int type : {SOCK_STREAM, SOCK_DGRAM})
                  if (!denied(socket(AF_UNIX, type, 0))) return 3;
                for (const int family : {AF_INET, AF_INET6, AF_NETLINK})
                  if (!denied(socket(family, SOCK_SEQPACKET, 0))) return 4;
                return denied(symlink("a", "/dev/char/b")) ? 0 : 5;
              });
            }),
            0);
}

}  // namespace
}  // namespace hone::agent
