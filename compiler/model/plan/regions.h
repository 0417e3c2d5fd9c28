// Layers that share a region of the runtime: threads go from one to the next without waiting for each other.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/model/plan/layers.h"
#include "compiler/model/plan/parallel_loop.h"
#include "compiler/model/plan/storage.h"

namespace hone {

/// The part of a call that one thread computes.
struct Share {
  size_t call = 0;
  /// Iterations of the kernel's whole_parallel_loop(), counted from 0, in order; empty: all of the kernel.
  std::vector<IterationRange> iterations;
  bool operator==(const Share&) const = default;
};

/// Neighbouring calls. Threads run at the same time, the shares of a thread one after the other.
struct SharedRegion {
  size_t begin = 0, end = 0;                ///< calls begin .. end - 1
  std::vector<std::vector<Share>> threads;  ///< shares in the order of the calls; at least two threads, none empty
};

/// Which of `layers.calls` share a region on the target's threads. What depends on each other, iterations of parallel
/// loops and layers that have none, is computed by one thread, so that no thread waits for what another one makes; that
/// is proved by the elements that each of them touches. So layers that need nothing of each other run side by side, and
/// a layer that reads of each row what one thread wrote follows at once. Only where that is faster than one region a
/// layer: starting one and waiting for its end takes as long as a small layer.
std::vector<SharedRegion> find_regions(const Graph& g, const Storage& storage, const Layers& layers,
                                       ParallelLoops& loops, const Target& target);

}  // namespace hone
