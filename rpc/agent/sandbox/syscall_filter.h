// A process's system calls (seccomp): compiled once, applied in as many processes as needed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "rpc/agent/sandbox/sandbox_profile.h"

struct sock_fprog;

namespace hone::agent {

/// A denied call fails with EPERM.
class SyscallFilter {
 public:
  /// Allows the profile's groups and nothing else.
  static SyscallFilter for_profile(const SandboxProfile& profile);
  /// Denies SyscallGroup::kLoad, and is applied on top of a profile's: a few instructions only.
  static SyscallFilter no_more_loading();
  SyscallFilter(SyscallFilter&&) noexcept;
  ~SyscallFilter();

  /// For every thread of this process, for ever. Needs no_new_privs. False when the kernel (or this build) has no
  /// seccomp.
  bool apply() const;

 private:
  SyscallFilter();
  std::vector<uint64_t> code_;
  std::unique_ptr<sock_fprog> program_;
  void load(void* context);
};

}  // namespace hone::agent
