// The threads that artifacts run on in this tree's own processes: the pool that artifacts bring, with its threads on
// CPUs of the caller's choice.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

struct ThreadPoolOptions {
  int workers = 1;  ///< the caller included
  /// Worker i > 0 is pinned to cpus[i] where there is one; the caller pins itself (pin_this_thread).
  std::vector<int> cpus = {};
};

/// runtime/pool/pool.h says what runs where.
class ThreadPool {
 public:
  /// UserError when the system makes no more threads.
  explicit ThreadPool(const ThreadPoolOptions& options);
  ~ThreadPool();  ///< joins; no region may be running
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return runtime_->workers; }
  /// As HoneRuntime::parallel_for.
  int32_t parallel_for(HoneChunk body, void* closure, int64_t iterations, int32_t max_workers, int64_t grain = 0) {
    return runtime_->parallel_for(runtime_->self, body, closure, iterations, max_workers, grain);
  }
  /// Iteration i on worker i's own thread, for each worker.
  int32_t on_each(HoneChunk body, void* closure);
  /// For the entries of artifacts; lives as long as the pool.
  const HoneRuntime* runtime() const { return runtime_; }

 private:
  HoneRuntime* runtime_;
};

/// Pins the calling thread to one CPU; false when the system refuses.
bool pin_this_thread(int cpu);

/// The calling thread on one CPU for as long as this lives; then where it was before. Does nothing where the system
/// refuses.
class PinnedCaller {
 public:
  explicit PinnedCaller(int cpu);
  ~PinnedCaller();
  PinnedCaller(const PinnedCaller&) = delete;
  PinnedCaller& operator=(const PinnedCaller&) = delete;

 private:
  std::vector<unsigned char> before_;  ///< the affinity mask; empty when nothing was changed
};

/// The CPUs that this thread may run on, ascending.
std::vector<int> allowed_cpus();

}  // namespace hone
