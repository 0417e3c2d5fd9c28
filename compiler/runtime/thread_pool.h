// A fixed set of workers that run the chunks of parallel loops; the calling thread is worker 0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/runtime/include/hone_runtime.h"

namespace hone {

struct ThreadPoolOptions {
  int workers = 1;  ///< the caller included
  /// Worker i > 0 is pinned to cpus[i] where there is one; the caller pins itself (pin_this_thread).
  std::vector<int> cpus = {};
  /// How long an idle worker spins before it sleeps; up to ten times that where regions follow each other closely.
  int spin_us = 20;
};

/// One region runs at a time: a second thread that calls parallel_for while one runs, and a call from inside a chunk,
/// run inline.
class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options);
  ~ThreadPool();  ///< joins; no region may be running
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return runtime_.workers; }
  /// As HoneRuntime::parallel_for. `grain` 0: contiguous chunks of equal size, one per worker; n: workers claim n
  /// iterations at a time.
  int32_t parallel_for(HoneChunk body, void* closure, int64_t iterations, int32_t max_workers, int64_t grain = 0);
  /// For the entries of artifacts; lives as long as the pool.
  const HoneRuntime* runtime() const { return &runtime_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  HoneRuntime runtime_;
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
