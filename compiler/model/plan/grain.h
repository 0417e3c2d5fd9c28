// Which layers all threads divide, and which the calling thread computes alone.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/model/plan/layers.h"
#include "compiler/model/plan/parallel_loop.h"
#include "compiler/model/plan/storage.h"

namespace hone {

/// By call: whether it is worth the target's threads (of one thread: all are). Dividing a small layer costs as much as
/// the layer, and another core fetches data more slowly than it computes: both are estimated, the bytes that change
/// cores by the elements that each thread's share touches, and the sum over the model is minimised.
std::vector<bool> worth_threads(const Graph& g, const Storage& storage, const Layers& layers, ParallelLoops& loops,
                                const Target& target);

}  // namespace hone
