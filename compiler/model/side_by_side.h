// Small layers that run side by side: each too little work for all threads, none needs another's result.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/model/layers.h"
#include "compiler/model/storage.h"

namespace hone {

/// Neighbouring calls, each of one lane. Lanes run at the same time, the calls of a lane one after the other.
struct SideBySide {
  size_t begin = 0;                        ///< the first call
  std::vector<std::vector<size_t>> lanes;  ///< calls, in order; at least two lanes, none empty
};

/// Which of `layers.calls` run side by side on `threads` threads: of neighbours that are all small, those that depend
/// on each other share a lane, and lanes are as even as their estimated times allow. Only where that is faster than one
/// after the other, each on all threads: a layer of a microsecond costs as much again to divide and to wait for.
std::vector<SideBySide> side_by_side(const Graph& g, const Storage& storage, const Layers& layers, int threads);

}  // namespace hone
