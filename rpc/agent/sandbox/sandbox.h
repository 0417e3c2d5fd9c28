// The limits of builder, runner and candidates, which hold even if a module or a bug in LLVM lets an attacker control
// them. Everything is best effort: a protection that this host does not grant is named, reported to the tracker, stored
// with the trials and printed once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/sanitizer.h"
#include "rpc/agent/sandbox/file_rules.h"
#include "rpc/agent/sandbox/sandbox_profile.h"
#include "rpc/agent/sandbox/syscall_filter.h"

namespace hone::agent {

/// For the whole process, at its start: no new privileges, no capabilities, no core dumps, no debugger of the same
/// user, and the first to be killed when memory runs out; namespaces of its own for the network (without any interface)
/// and System V IPC. Returns the protections that were not granted ("network namespace", …).
std::vector<std::string> enter_sandbox();

/// Limits, files (Landlock) and system calls (seccomp) of a profile, for a single-threaded process that has opened
/// everything else it needs; after enter_sandbox(). `scratch`: its folder, empty for none; `more_reads`: files beside
/// the profile's. Appends the protections that were not granted to `missing`.
void confine(const SandboxProfile& profile, const std::string& scratch, std::vector<std::string>* missing,
             const std::vector<std::string>& more_reads = {});

/// The same in two steps, for a process that is forked by a parent that can prepare nothing any more.
class PreparedSandbox {
 public:
  PreparedSandbox(const SandboxProfile& profile, const std::string& scratch,
                  const std::vector<std::string>& more_reads = {});
  /// Applies it to this process, which must be single-threaded.
  void apply(std::vector<std::string>* missing) const;
  /// The descriptor that apply() needs; -1: none.
  int descriptor() const { return files_.descriptor(); }

 private:
  const SandboxProfile& profile_;
  FileRules files_;
  SyscallFilter filter_;
};

/// 0 leaves a limit unchanged. The number of processes is not limited here: RLIMIT_NPROC counts all processes of a
/// user, and not root's. The system call filters deny fork and exec instead.
struct ResourceLimits {
  uint64_t address_space = 0;  ///< bytes
  uint64_t cpu_seconds = 0;
  uint64_t file_bytes = 0;  ///< of a file written
  uint64_t open_files = 0;
};
void set_limits(const ResourceLimits& limits);

/// About the process that made it: opens /proc at once, so that it can be read when no file can be opened any more.
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

/// Closes every descriptor but 0, 1, 2, `keep` and `keep_too` (-1: none), and replaces 1 and 2 by descriptor 0
/// (/dev/null).
void close_others(int keep, int keep_too);

}  // namespace hone::agent
