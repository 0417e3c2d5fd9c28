// Inside a candidate's own process, forked from the runner: load the artifact, prepack, run it once on poisoned
// outputs, compare, then time calls for as long as the runner asks.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compiler/check/checker.h"
#include "compiler/runtime/thread_pool.h"
#include "rpc/agent/pipe/protocol.h"
#include "rpc/agent/run/candidate_memory.h"
#include "rpc/agent/run/tensor_cache.h"
#include "rpc/agent/sandbox/file_rules.h"
#include "rpc/agent/sandbox/guarded_buffer.h"
#include "rpc/agent/sandbox/syscall_filter.h"

namespace hone::agent {

/// The confinement of a candidate's process, prepared by the process that forks it: `files` and `loading` are applied
/// before the artifact is opened, since opening it may run its code; `loaded` before its kernel is called.
struct Confinement {
  FileRules files;
  SyscallFilter loading, loaded;
  bool filters = true;  ///< the kernel takes system call filters: the runner has one
};

/// Applies `files` and `loading` to every thread of a candidate's process: the calling one and the pool's (null: no
/// pool). False: it failed on a thread although this kernel supports them; no artifact may be loaded then.
bool confine_threads(const Confinement& confinement, ThreadPool* pool);

/// A candidate and everything it needs; a forked process inherits it as a copy. Everything pointed to outlives it.
struct CandidateTask {
  const BuiltModule* module = nullptr;
  /// One for each parameter, read-only: the packed tensor; the logical one where a prepack makes the packed one; null
  /// for outputs.
  std::vector<TensorCache::Tensor> inputs;
  std::shared_ptr<const void> reference;  ///< owns the data that `expected` points to
  std::vector<Expected> expected;         ///< one for each output; empty: only checks that every element was written
  int threads = 1;
  std::vector<int> cpus;  ///< to pin the threads to
  bool flush_cache = false;
  int64_t cold_bytes = 0;  ///< each timed call reads another copy of the constants (ColdConstants); 0: the same
  /// Bytes that it may map, beside the runner's, until its tensors are there; 0: no limit.
  uint64_t memory_limit = 0;
  uint64_t headroom = kMostHeadroom;  ///< bytes that it may take beyond its tensors from then on
  /// Limit on the CPU seconds of all its threads, should the runner's own deadline not end it; 0: no limit.
  uint64_t cpu_seconds = 0;
  const Confinement* confinement = nullptr;
};

/// Answers on `fd` with a CheckReply, then a TimeReply for each TimeRequest until the runner closes it. Never returns.
[[noreturn]] void run_candidate(int fd, const CandidateTask& task);

/// Computes the outputs of a reference: no poison, no checks, no timing; a CheckReply says whether the call returned
/// ok. `args`: those of all parameters, in order.
[[noreturn]] void run_reference(int fd, const CandidateTask& task, const std::vector<void*>& args);

}  // namespace hone::agent
