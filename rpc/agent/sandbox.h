// What builder, runner and candidates may not do. Everything is best effort: what this host does not grant is named, reported to the
// tracker and printed once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct sock_fprog;

namespace hone::agent {

/// For the whole process, at its start: no new privileges, no core files, a network namespace of its own without any interface.
/// Returns what could not be had ("network namespace", …).
std::vector<std::string> enter_sandbox();

/// 0 leaves a limit as it is. Processes are not limited here: RLIMIT_NPROC counts all of a user's, and not root's; the system call
/// filters deny fork and exec instead.
struct ResourceLimits {
  uint64_t address_space = 0;  ///< bytes
  uint64_t cpu_seconds = 0;
  uint64_t file_bytes = 0;     ///< of a file written
  uint64_t open_files = 0;
};
void set_limits(const ResourceLimits& limits);

/// A seccomp program, compiled once and applied in as many processes as needed. A denied call fails with EPERM.
class SyscallFilter {
 public:
  /// Denies network, exec, fork, ptrace, mounting and the like; for the builder.
  static SyscallFilter for_builder();
  /// Allows what a loaded kernel and a thread pool need (memory, threads, futexes, its open descriptors) and nothing else.
  static SyscallFilter for_candidate();
  SyscallFilter(SyscallFilter&&) noexcept;
  ~SyscallFilter();

  /// For every thread of this process, for ever. False when the kernel (or this build) has no seccomp.
  bool apply() const;
  bool available() const { return program_ != nullptr; }

 private:
  SyscallFilter();
  std::vector<uint64_t> code_;
  std::unique_ptr<sock_fprog> program_;
  void load(void* context);
};

}  // namespace hone::agent
