#include "rpc/agent/sandbox/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace hone::agent {
namespace {

void set_limit(int which, uint64_t value) {
  if (value == 0) return;
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(which), &limit);
  limit.rlim_max = std::min<rlim_t>(limit.rlim_max, value);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, value);
  setrlimit(static_cast<__rlimit_resource>(which), &limit);
}

// The capabilities of root, and those that come with a user namespace.
bool drop_capabilities() {
  for (int c = 0; c < 64; ++c) prctl(PR_CAPBSET_DROP, c, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  return syscall(SYS_capset, &header, none) == 0;
}

// Every process may raise it.
bool die_first_without_memory() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  const bool ok = fd >= 0 && write(fd, "1000", 4) == 4;
  if (fd >= 0) close(fd);
  return ok;
}

void close_range_or_each(unsigned first, unsigned last) {
  if (first > last) return;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, last, 0) == 0) return;
#endif
  for (unsigned fd = first; fd <= std::min(last, 4096U); ++fd) close(static_cast<int>(fd));
}

}  // namespace

std::vector<std::string> enter_sandbox() {
  std::vector<std::string> missing;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) missing.push_back("no_new_privs");
  if (!die_first_without_memory()) missing.push_back("oom_score_adj");
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // A limit of zero does not stop core dumps to a program (systemd-coredump, apport): this does.
  if (!kSanitizer) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // As root directly; otherwise inside a user namespace, where the kernel lets users make one.
  constexpr int kSpaces = CLONE_NEWNET | CLONE_NEWIPC;
  if (unshare(kSpaces) != 0 && unshare(CLONE_NEWUSER | kSpaces) != 0) missing.push_back("network namespace");
  if (!drop_capabilities()) missing.push_back("dropping capabilities");
  return missing;
}

// The filter is compiled while everything is allowed.
PreparedSandbox::PreparedSandbox(const SandboxProfile& profile, const std::string& scratch,
                                 const std::vector<std::string>& more_reads)
    : profile_(profile), files_(profile, scratch, more_reads), filter_(SyscallFilter::for_profile(profile)) {}

void PreparedSandbox::apply(std::vector<std::string>* missing) const {
  set_limits({.address_space = profile_.memory == MemoryMeasure::kAddressSpace ? profile_.memory_bytes : 0,
              .cpu_seconds = 0,
              .file_bytes = profile_.file_bytes,
              .open_files = profile_.open_files});
  if (!files_.apply()) missing->push_back("landlock");
  if (!filter_.apply()) missing->push_back("seccomp");
}

void confine(const SandboxProfile& profile, const std::string& scratch, std::vector<std::string>* missing,
             const std::vector<std::string>& more_reads) {
  PreparedSandbox(profile, scratch, more_reads).apply(missing);
}

void set_limits(const ResourceLimits& limits) {
  if (!kSanitizer) set_limit(RLIMIT_AS, limits.address_space);
  set_limit(RLIMIT_CPU, limits.cpu_seconds);
  set_limit(RLIMIT_FSIZE, limits.file_bytes);
  set_limit(RLIMIT_NOFILE, limits.open_files);
}

MappedBytes::MappedBytes() : fd_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}

MappedBytes::~MappedBytes() {
  if (fd_ >= 0) close(fd_);
}

uint64_t MappedBytes::now() const {
  char text[160];
  const ssize_t n = fd_ >= 0 ? pread(fd_, text, sizeof text - 1, 0) : -1;
  if (n <= 0) return 0;
  text[n] = '\0';
  uint64_t pages = 0;
  return std::sscanf(text, "%" SCNu64, &pages) == 1 ? pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

void close_others(int keep, int keep_too) {
  const auto [low, high] = std::minmax(keep, keep_too);
  // A sanitizer's report is for people.
  if (!kSanitizer) {
    dup2(0, 1);
    dup2(0, 2);
  }
  unsigned first = 3;
  for (const int kept : {low, high}) {
    if (kept < 3) continue;
    if (static_cast<unsigned>(kept) > first) close_range_or_each(first, static_cast<unsigned>(kept) - 1);
    first = static_cast<unsigned>(kept) + 1;
  }
  close_range_or_each(first, ~0U);
}

}  // namespace hone::agent
