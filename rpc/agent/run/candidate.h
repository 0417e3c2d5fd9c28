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

/// What a candidate's process puts on, prepared by the process that forks it: `files` and `loading` before the artifact
/// is opened, since opening it may run its code; `loaded` before its kernel is called.
struct Confinement {
  FileRules files;
  SyscallFilter loading, loaded;
  bool filters = true;  ///< the kernel takes system call filters: the runner has one
};

/// Puts `files` and `loading` on every thread of a candidate's process: the calling one and the pool's (null: there are
/// no others). False: not on all of them, although this kernel has them; no artifact may be loaded then.
bool confine_threads(const Confinement& confinement, ThreadPool* pool);

/// One candidate and all it needs; a forked process inherits it by being a copy. Everything pointed to outlives it.
struct CandidateTask {
  const BuiltModule* module = nullptr;
  /// Of each parameter, read-only: the packed tensor, the logical one where a prepack makes the packed one, null for
  /// outputs.
  std::vector<TensorCache::Tensor> inputs;
  std::shared_ptr<const void> reference;  ///< keeps what `expected` points to
  std::vector<Expected> expected;         ///< of each output; empty: only that every element was written
  int threads = 1;
  std::vector<int> cpus;  ///< to pin the threads to
  bool flush_cache = false;
  /// Bytes that it may map, beside the runner's, until its tensors are there; 0: no limit.
  uint64_t memory_limit = 0;
  uint64_t headroom = kMostHeadroom;  ///< bytes that it may take beyond its tensors from then on
  /// CPU seconds of all its threads, in case the runner's own deadline does not end it; 0: no limit.
  uint64_t cpu_seconds = 0;
  const Confinement* confinement = nullptr;
};

/// Answers on `fd` with a CheckReply, then a TimeReply for each TimeRequest until the runner closes it. Never returns.
[[noreturn]] void run_candidate(int fd, const CandidateTask& task);

/// Fills the outputs of a reference: no poison, no checks, no timing; a CheckReply says whether the call returned ok.
/// `args` of all parameters in order.
[[noreturn]] void run_reference(int fd, const CandidateTask& task, const std::vector<void*>& args);

}  // namespace hone::agent
