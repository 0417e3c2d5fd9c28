// The rights of each of the agent's processes, by kind of target, in one table: sandbox.h, file_rules.h and
// syscall_filter.h enforce a row.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace hone::agent {

/// A candidate has a process of its own on CPUs. On GPUs one process has the device open for all of them. The runner
/// forks it, so the runner keeps the device's rights, too: a process cannot regain rights that its parent dropped.
enum class SandboxRole : uint8_t { kBuilder, kRunner, kCandidate };

/// GPU drivers reserve far more addresses than they use: for them only resident memory is limited.
enum class MemoryMeasure : uint8_t { kAddressSpace, kResident };

/// System calls that go together (syscall_filter.cc lists them).
enum class SyscallGroup : uint8_t {
  kCompute,   ///< memory, futexes, clocks, signals of its own, descriptors that are open
  kLoad,      ///< opens files for reading, maps code, lowers its own limits: needed until a kernel is loaded
  kFiles,     ///< opens, makes, renames and removes files
  kMemory,    ///< makes memory that it shares with its children, and seals it
  kThreads,   ///< starts threads
  kChildren,  ///< forks, kills and reaps; confines its children
  kHostLock,  ///< flock
  kDevice,    ///< ioctl on devices that are open; calls of their drivers at their start (file_rules.h, too)
  kPrograms,  ///< starts programs, makes folders
};

struct SandboxProfile {
  std::string_view kind;  ///< the first word of the device's targets: llvm, cuda
  SandboxRole role;
  MemoryMeasure memory;
  uint64_t memory_bytes;  ///< 0: as many as the task needs, and a few more
  uint64_t file_bytes;    ///< of one file that is written, memory files included
  uint64_t open_files;
  bool writes_scratch;  ///< makes and removes files in its scratch folder; otherwise it reads and loads them
  /// Files and folders that it reads and maps as code; those that do not exist are left out.
  std::span<const char* const> reads;
  std::span<const char* const> devices;  ///< nodes that it opens for reading and writing
  std::span<const SyscallGroup> calls;   ///< system calls; all others are denied

  bool may(SyscallGroup group) const;
};

/// Every kind of targets has a row for every role.
const SandboxProfile* sandbox_profile(std::string_view kind, SandboxRole role);
std::span<const SandboxProfile> sandbox_profiles();

}  // namespace hone::agent
