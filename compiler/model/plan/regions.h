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

/// Which of `layers.calls` share a region on the target's threads. Iterations of parallel loops, and layers without
/// one, run on one thread when they depend on each other, so that no thread waits for another's results; the elements
/// that each touches prove it. So independent layers run side by side, and a layer that reads from each row only one
/// thread's results follows at once. Only where that is faster than one region a layer: to start a region and wait for
/// its end takes as long as a small layer.
std::vector<SharedRegion> find_regions(const Graph& g, const Storage& storage, const Layers& layers,
                                       ParallelLoops& loops, const Target& target);

}  // namespace hone
