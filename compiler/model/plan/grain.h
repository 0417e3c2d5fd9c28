// Which layers all threads divide, and which the calling thread computes alone.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/model/plan/layers.h"
#include "compiler/model/plan/parallel_loop.h"
#include "compiler/model/plan/storage.h"

namespace hone {

/// By call: whether it is worth the target's threads (of one thread: all are). A small layer costs as much to divide,
/// and what one core wrote takes another one longer to fetch than to compute: both are estimated, the bytes that change
/// cores by the elements that each thread's share touches, and the sum over the model is made least.
std::vector<bool> worth_threads(const Graph& g, const Storage& storage, const Layers& layers, ParallelLoops& loops,
                                const Target& target);

}  // namespace hone
