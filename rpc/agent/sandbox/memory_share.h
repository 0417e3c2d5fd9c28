// How much memory this agent has, and how much of it each of its processes may take. Together they stay below what the
// machine, or the container that the agent runs in, allows: where that runs out the kernel ends whom it likes, in
// Kubernetes all of the pod.
#pragma once

#include <cstdint>
#include <string>

namespace hone::agent {

/// Bytes that this process and its children may use: the machine's, or less where its control group or one above it has
/// a limit (memory.max of version 2, memory.limit_in_bytes of version 1). `root`: where proc and sys lie; what cannot
/// be read there limits nothing.
uint64_t usable_memory(const std::string& root = "");

/// Limits of one device's processes, in bytes; 0: no limit of their own.
struct MemoryShares {
  int builders = 1;  ///< at work at the same time: as many as have enough
  /// That are there: each works for one session, and those of sessions that take turns need not be started again and
  /// again.
  int builder_processes = 1;
  uint64_t builder_bytes = 0;  ///< of one of these processes, beside the libraries that it begins with
  /// For the runner's tensors and its candidates together, or for the process that has a GPU open.
  uint64_t runner_bytes = 0;
};

/// Shares of `usable` bytes among `devices` devices, each with `builders` builders at work at most. A quarter is left
/// to the agent itself and to files in memory.
MemoryShares share_memory(uint64_t usable, int devices, int builders);

}  // namespace hone::agent
