#include "rpc/agent/sandbox.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef HONE_HAVE_SECCOMP
#include <seccomp.h>
#endif

namespace hone::agent {
namespace {

// Sanitizers reserve terabytes of addresses and make system calls of their own at any time.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitizer = true;
#else
constexpr bool kSanitizer = false;
#endif

void set_limit(int which, uint64_t value) {
  if (value == 0) return;
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(which), &limit);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, value);
  setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

#ifdef HONE_HAVE_SECCOMP
constexpr const char* kDenied[] = {
    "socket",        "connect",          "bind",         "listen",      "accept",   "accept4",        "execve",       "execveat",
    "fork",          "vfork",            "ptrace",       "mount",       "umount2",  "pivot_root",     "chroot",       "setns",
    "unshare",       "process_vm_readv", "process_vm_writev", "kexec_load", "reboot", "swapon",       "swapoff",      "init_module",
    "finit_module",  "delete_module",    "bpf",          "perf_event_open", "keyctl", "add_key",      "request_key",  "userfaultfd",
    "kill",          "pidfd_open",       "pidfd_send_signal", "io_uring_setup", "open_by_handle_at", "setuid", "setgid", "settimeofday",
    "clock_settime", "sethostname",      "quotactl",     "acct",        "symlink",  "symlinkat",      "link",         "linkat",
    "chmod",         "fchmodat",         "chown",        "fchownat",    "mknod",    "mknodat"};

constexpr const char* kAllowed[] = {
    "read",          "pread64",     "write",       "recvfrom",      "sendto",          "recvmsg",        "sendmsg",         "readv",           "writev",
    "poll",          "ppoll",       "futex",         "futex_waitv",     "clock_gettime",  "clock_nanosleep", "clock_getres",    "nanosleep",
    "gettimeofday",  "sched_yield", "sched_getaffinity", "sched_setaffinity", "mmap",     "munmap",          "mprotect",        "madvise",
    "mremap",        "brk",         "exit",          "exit_group",      "rt_sigreturn",   "rt_sigprocmask",  "rt_sigaction",    "sigaltstack",
    "gettid",        "getpid",      "getppid",       "tgkill",          "set_robust_list", "rseq",           "membarrier",      "restart_syscall",
    "close",         "fstat",       "newfstatat",    "lseek",           "getrandom",      "getcpu",          "getrusage",       "set_tid_address"};

// glibc tries clone3 first and falls back to clone, whose flags (unlike clone3's) a filter can read: threads yes, processes no.
void allow_threads_only(scmp_filter_ctx context, bool default_allows) {
  seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  if (default_allows)
    seccomp_rule_add(context, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  else
    seccomp_rule_add(context, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
}

template <size_t N>
void add_rules(scmp_filter_ctx context, uint32_t action, const char* const (&names)[N]) {
  for (const char* name : names) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number != __NR_SCMP_ERROR) seccomp_rule_add(context, action, number, 0);
  }
}
#endif

}  // namespace

std::vector<std::string> enter_sandbox() {
  std::vector<std::string> missing;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) missing.push_back("no_new_privs");
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // As root directly, otherwise inside a user namespace where the kernel lets users make one.
  if (unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) missing.push_back("network namespace");
  return missing;
}

void set_limits(const ResourceLimits& limits) {
  if (!kSanitizer) set_limit(RLIMIT_AS, limits.address_space);
  set_limit(RLIMIT_CPU, limits.cpu_seconds);
  set_limit(RLIMIT_FSIZE, limits.file_bytes);
  set_limit(RLIMIT_NOFILE, limits.open_files);
}

SyscallFilter::SyscallFilter() = default;
SyscallFilter::SyscallFilter(SyscallFilter&&) noexcept = default;
SyscallFilter::~SyscallFilter() = default;

#ifdef HONE_HAVE_SECCOMP
// libseccomp writes the program to a file only; read it back so that a forked candidate needs one system call and no library.
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

SyscallFilter SyscallFilter::for_builder() {
  SyscallFilter filter;
  if (kSanitizer) return filter;
  if (scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW)) {
    add_rules(context, SCMP_ACT_ERRNO(EPERM), kDenied);
    allow_threads_only(context, true);
    filter.load(context);
  }
  return filter;
}

SyscallFilter SyscallFilter::for_candidate() {
  SyscallFilter filter;
  if (kSanitizer) return filter;
  if (scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM))) {
    add_rules(context, SCMP_ACT_ALLOW, kAllowed);
    allow_threads_only(context, false);
    filter.load(context);
  }
  return filter;
}
#else
void SyscallFilter::load(void*) {}
SyscallFilter SyscallFilter::for_builder() { return SyscallFilter(); }
SyscallFilter SyscallFilter::for_candidate() { return SyscallFilter(); }
#endif

bool SyscallFilter::apply() const {
  if (!program_) return false;
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, program_.get()) == 0) return true;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program_.get()) == 0;
}

}  // namespace hone::agent
