// How much memory this agent has, and how much of it each of its processes may take. Together they stay below the limit
// of the machine or the agent's container: beyond that the kernel kills processes of its choice, in Kubernetes the
// whole pod.
#pragma once

#include <cstdint>
#include <string>

namespace hone::agent {

/// Bytes that this process and its children may use: the machine's memory, or less where its control group or one above
/// it has a limit (memory.max of version 2, memory.limit_in_bytes of version 1). `root`: where proc and sys lie; files
/// that cannot be read limit nothing.
uint64_t usable_memory(const std::string& root = "");

/// Limits of one device's processes, in bytes; 0: no limit of their own.
struct MemoryShares {
  int builders = 1;  ///< builders that compile at the same time: as many as have enough memory
  /// Builder processes that exist: each works for one session, and those of sessions that take turns need not be
  /// restarted again and again.
  int builder_processes = 1;
  uint64_t builder_bytes = 0;  ///< limit of one builder, beside the libraries that it begins with
  /// Limit of the runner's tensors and its candidates together, or of the process that has a GPU open.
  uint64_t runner_bytes = 0;
};

/// Divides `usable` bytes among `devices` devices, each with at most `builders` builders compiling. A quarter is left
/// to the agent itself and to files in memory.
MemoryShares share_memory(uint64_t usable, int devices, int builders);

}  // namespace hone::agent
