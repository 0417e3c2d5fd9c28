// Which files a process sees (Landlock): made once, applied by a system call in as many processes as needed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "rpc/agent/sandbox/sandbox_profile.h"

namespace hone::agent {

/// The abilities of this kernel's Landlock: 0 none, 1 files, 3 truncation too, 4 TCP, 6 signals and abstract sockets.
int landlock_abi();

/// Under the rules of a profile a process opens only `reads`, `devices`, its scratch folder and the folder of the libc
/// that it runs with. Where the kernel supports it, it also opens no TCP connection, and signals and reaches (by
/// abstract socket) only processes that it forked. It cannot trace other processes either.
///
/// NVIDIA's driver writes its threads' names to /proc/self/task/*/comm, and does not start where it cannot. A candidate
/// that may use devices (SyscallGroup::kDevice) may therefore write to the files of its own threads there, and its
/// runner to all of /proc: it makes its rules before it knows its children's numbers.
class FileRules {
 public:
  /// Not available() when the kernel has no Landlock, or this program is instrumented by a sanitizer. `scratch`: a
  /// folder; empty: none. `more_reads`: files beside those of the profile.
  FileRules(const SandboxProfile& profile, const std::string& scratch, const std::vector<std::string>& more_reads = {});
  FileRules(FileRules&& other) noexcept : fd_(std::exchange(other.fd_, -1)), thread_rights_(other.thread_rights_) {}
  ~FileRules();

  bool available() const { return fd_ >= 0; }
  /// Applies to the calling thread and all it starts, permanently, on top of the rules it has already. Needs
  /// no_new_privs. False: not applied.
  bool apply() const;
  /// The kernel's ruleset descriptor, which apply() needs; -1 when there is none.
  int descriptor() const { return fd_; }

 private:
  int fd_ = -1;
  uint64_t thread_rights_ = 0;  ///< on the files of the process's own threads in /proc
};

}  // namespace hone::agent
