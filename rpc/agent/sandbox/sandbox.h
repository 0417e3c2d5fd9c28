// What builder, runner and candidates may not do, whatever a module or a hole in LLVM makes of them. Everything is best
// effort: what this host does not grant is named, reported to the tracker, stored with the trials and printed once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/sanitizer.h"
#include "rpc/agent/sandbox/file_rules.h"
#include "rpc/agent/sandbox/sandbox_profile.h"
#include "rpc/agent/sandbox/syscall_filter.h"

namespace hone::agent {

/// For the whole process, at its start: no new privileges, no capabilities, no core dumps and no debugger of the same
/// user, the first that the kernel ends when memory runs out; namespaces of its own for the network (without any
/// interface) and System V IPC. Returns what could not be had ("network namespace", …).
std::vector<std::string> enter_sandbox();

/// Limits, files (Landlock) and system calls (seccomp) of a profile, for a single-threaded process that has opened what
/// else it needs; after enter_sandbox(). `scratch`: its folder, empty for none; `more_reads`: besides the profile's.
/// Appends what could not be had to `missing`.
void confine(const SandboxProfile& profile, const std::string& scratch, std::vector<std::string>* missing,
             const std::vector<std::string>& more_reads = {});

/// The same in two steps, for a process that is forked once its parent may prepare nothing any more.
class PreparedSandbox {
 public:
  PreparedSandbox(const SandboxProfile& profile, const std::string& scratch,
                  const std::vector<std::string>& more_reads = {});
  /// On this process, which is single-threaded.
  void apply(std::vector<std::string>* missing) const;
  /// Which apply() needs; -1: none.
  int descriptor() const { return files_.descriptor(); }

 private:
  const SandboxProfile& profile_;
  FileRules files_;
  SyscallFilter filter_;
};

/// 0 leaves a limit as it is. Processes are not limited here: RLIMIT_NPROC counts all of a user's, and not root's; the
/// system call filters deny fork and exec instead.
struct ResourceLimits {
  uint64_t address_space = 0;  ///< bytes
  uint64_t cpu_seconds = 0;
  uint64_t file_bytes = 0;  ///< of a file written
  uint64_t open_files = 0;
};
void set_limits(const ResourceLimits& limits);

/// Of the process that made it: opens /proc at once, so that it can be asked when nothing can be opened any more.
class MappedBytes {
 public:
  MappedBytes();
  MappedBytes(const MappedBytes&) = delete;
  ~MappedBytes();
  /// Bytes of address space that are mapped; 0 when /proc does not say.
  uint64_t now() const;

 private:
  int fd_ = -1;
};

/// Closes every descriptor but 0, 1, 2, `keep` and `keep_too` (-1: none), and puts what 0 is (/dev/null) in the place
/// of 1 and 2.
void close_others(int keep, int keep_too);

}  // namespace hone::agent
