#include "rpc/agent/sandbox/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HONE_HAVE_SECCOMP
#include <seccomp.h>
#endif

#include <initializer_list>
#include <span>

#include "rpc/agent/sandbox/file_rules.h"
#include "rpc/agent/sandbox/sandbox.h"

namespace hone::agent {

SyscallFilter::SyscallFilter() = default;
SyscallFilter::SyscallFilter(SyscallFilter&&) noexcept = default;
SyscallFilter::~SyscallFilter() = default;

#ifdef HONE_HAVE_SECCOMP
namespace {

// Names that a machine does not have are left out: open and stat exist on x86 only.
constexpr const char* kCompute[] = {"read",
                                    "pread64",
                                    "write",
                                    "recvfrom",
                                    "sendto",
                                    "recvmsg",
                                    "sendmsg",
                                    "readv",
                                    "writev",
                                    "poll",
                                    "ppoll",
                                    "futex",
                                    "futex_waitv",
                                    "clock_gettime",
                                    "clock_nanosleep",
                                    "clock_getres",
                                    "nanosleep",
                                    "gettimeofday",
                                    "sched_yield",
                                    "sched_getaffinity",
                                    "mmap",
                                    "munmap",
                                    "mprotect",
                                    "madvise",
                                    "mremap",
                                    "brk",
                                    "exit",
                                    "exit_group",
                                    "rt_sigreturn",
                                    "rt_sigprocmask",
                                    "rt_sigaction",
                                    "sigaltstack",
                                    "gettid",
                                    "getpid",
                                    "getppid",
                                    "set_robust_list",
                                    "rseq",
                                    "membarrier",
                                    "restart_syscall",
                                    "close",
                                    "fstat",
                                    "lseek",
                                    "getrandom",
                                    "getcpu",
                                    "getrusage",
                                    "set_tid_address",
                                    "time",
                                    "times",
                                    "sysinfo",
                                    "uname",
                                    "arch_prctl"};
constexpr const char* kLoadReads[] = {"access",
                                      "faccessat",
                                      "faccessat2",
                                      "stat",
                                      "lstat",
                                      "newfstatat",
                                      "statx",
                                      "fstatfs",
                                      "statfs",
                                      "readlink",
                                      "readlinkat",
                                      "getdents64",
                                      "getcwd",
                                      "setrlimit",
                                      "getrlimit",
                                      "seccomp",
                                      "landlock_restrict_self"};
constexpr const char* kFiles[] = {
    "open",      "openat",    "openat2",  "creat",        "unlink",  "unlinkat", "rename", "renameat", "renameat2",
    "ftruncate", "fallocate", "pwrite64", "memfd_create", "dup",     "dup2",     "dup3",   "fsync",    "fdatasync",
    "fadvise64", "umask",     "fchmod",   "getuid",       "geteuid", "getgid",   "getegid"};
constexpr const char* kChildren[] = {"wait4", "waitid", "kill", "socketpair",       "close_range",
                                     "dup",   "dup2",   "dup3", "landlock_add_rule"};
// NVIDIA's driver, beside its ioctls: it asks for the range of priorities, makes the folder of its cache, and listens
// on an abstract socket for processes it could share memory with (there are none in its network namespace). It goes on
// without symbolic links in /dev and without a connection to the daemon that shares a GPU among processes (MPS).
constexpr const char* kDevice[] = {"ioctl",
                                   "eventfd2",
                                   "epoll_create1",
                                   "epoll_ctl",
                                   "epoll_wait",
                                   "epoll_pwait",
                                   "pipe2",
                                   "mlock",
                                   "munlock",
                                   "sched_getscheduler",
                                   "sched_getparam",
                                   "sched_get_priority_min",
                                   "sched_get_priority_max",
                                   "get_mempolicy",
                                   "mbind",
                                   "set_mempolicy",
                                   "shmget",
                                   "shmat",
                                   "shmdt",
                                   "shmctl",
                                   "getuid",
                                   "geteuid",
                                   "getgid",
                                   "getegid",
                                   "mkdir",
                                   "bind",
                                   "listen"};

constexpr const char* kPrograms[] = {"execve",
                                     "vfork",
                                     "pipe",
                                     "pipe2",
                                     "wait4",
                                     "waitid",
                                     "mkdir",
                                     "mkdirat",
                                     "rmdir",
                                     "chmod",
                                     "fchmodat",
                                     "utimensat",
                                     "getpgrp",
                                     "getpgid",
                                     "rt_sigsuspend",
                                     "prlimit64",
                                     "sched_setaffinity",
                                     "socketpair"};

void add_rules(scmp_filter_ctx context, uint32_t action, std::span<const char* const> names) {
  for (const char* name : names) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number != __NR_SCMP_ERROR) seccomp_rule_add(context, action, number, 0);
  }
}

constexpr scmp_datum_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Every other way of opening a file creates, empties or writes it.
constexpr scmp_datum_t kNotReading = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;

// Limits and affinity of itself only: setting them for another process of the user is not allowed.
void allow_of_itself(scmp_filter_ctx context, int call) {
  seccomp_rule_add(context, SCMP_ACT_ALLOW, call, 1, SCMP_A0(SCMP_CMP_EQ, 0));
}

// fcntl may not set which process gets a descriptor's signals, or which signal it is.
constexpr std::initializer_list<int> kFcntl = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL,
                                               F_SETFL, F_GETLK,         F_SETLK, F_SETLKW};
void allow_fcntl(scmp_filter_ctx context, std::initializer_list<int> commands = kFcntl) {
  for (const int command : commands)
    seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
                     SCMP_A1(SCMP_CMP_MASKED_EQ, 0xFFFFFFFF, static_cast<scmp_datum_t>(command)));
}

void add_group(scmp_filter_ctx context, SyscallGroup group) {
  switch (group) {
    case SyscallGroup::kCompute:
      allow_of_itself(context, SCMP_SYS(sched_setaffinity));
      // abort() signals its own thread by tgkill, which could signal any other process, too: allowed only where
      // Landlock prevents that. Elsewhere abort() ends in an illegal instruction.
      if (landlock_abi() >= 6) seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 0);
      return add_rules(context, SCMP_ACT_ALLOW, kCompute);
    case SyscallGroup::kLoad:
      add_rules(context, SCMP_ACT_ALLOW, kLoadReads);
      allow_of_itself(context, SCMP_SYS(prlimit64));
      seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, kNotReading, 0));
      return;
    case SyscallGroup::kFiles: allow_fcntl(context); return add_rules(context, SCMP_ACT_ALLOW, kFiles);
    case SyscallGroup::kMemory:
      for (const int call : {SCMP_SYS(memfd_create), SCMP_SYS(ftruncate)})
        seccomp_rule_add(context, SCMP_ACT_ALLOW, call, 0);
      return allow_fcntl(context, {F_ADD_SEALS});
    case SyscallGroup::kThreads:
      // glibc tries clone3 first and falls back to clone. The filter can read the flags of clone, but not those of
      // clone3: threads are allowed, processes are not.
      seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
      seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                       SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
      return;
    case SyscallGroup::kChildren:
      allow_fcntl(context);
      add_rules(context, SCMP_ACT_ALLOW, kChildren);
      seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, kNewNamespaces, 0));
      seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG));
      return;
    case SyscallGroup::kHostLock: seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(flock), 0); return;
    case SyscallGroup::kDevice:
      // Sockets of this kind carry nothing before they are connected, which they cannot be.
      seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_UNIX),
                       SCMP_A1(SCMP_CMP_MASKED_EQ, 0xF, SOCK_SEQPACKET));
      return add_rules(context, SCMP_ACT_ALLOW, kDevice);
    case SyscallGroup::kPrograms: return add_rules(context, SCMP_ACT_ALLOW, kPrograms);
  }
}

}  // namespace

// libseccomp writes the program to a file only; read it back so that a forked candidate needs one system call and no
// library.
void SyscallFilter::load(void* context) {
  const int fd = memfd_create("seccomp", MFD_CLOEXEC);
  if (fd >= 0 && seccomp_export_bpf(context, fd) == 0) {
    const off_t bytes = lseek(fd, 0, SEEK_END);
    static_assert(sizeof(sock_filter) == sizeof(uint64_t));
    code_.resize(bytes / sizeof(sock_filter));
    if (bytes > 0 && pread(fd, code_.data(), bytes, 0) == bytes) {
      program_ = std::make_unique<sock_fprog>();
      program_->len = static_cast<unsigned short>(code_.size());
      program_->filter = reinterpret_cast<sock_filter*>(code_.data());
    }
  }
  if (fd >= 0) close(fd);
  seccomp_release(context);
}

SyscallFilter SyscallFilter::for_profile(const SandboxProfile& profile) {
  SyscallFilter filter;
  if (kSanitizer) return filter;
  if (scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM))) {
    for (const SyscallGroup group : profile.calls) add_group(context, group);
    filter.load(context);
  }
  return filter;
}

SyscallFilter SyscallFilter::no_more_loading() {
  SyscallFilter filter;
  if (kSanitizer) return filter;
  if (scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW)) {
    add_rules(context, SCMP_ACT_ERRNO(EPERM), kLoadReads);
    for (const int call : {SCMP_SYS(openat), SCMP_SYS(prlimit64)})
      seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), call, 0);
    // Memory cannot become executable any more.
    for (const int call : {SCMP_SYS(mmap), SCMP_SYS(mprotect)})
      seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), call, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC));
    filter.load(context);
  }
  return filter;
}
#else
void SyscallFilter::load(void*) {}
SyscallFilter SyscallFilter::for_profile(const SandboxProfile&) { return SyscallFilter(); }
SyscallFilter SyscallFilter::no_more_loading() { return SyscallFilter(); }
#endif

bool SyscallFilter::apply() const {
  return program_ && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program_.get()) == 0;
}

}  // namespace hone::agent
