// Models that were exported for one image, built for several: a graph with the results of as many runs.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

/// The most images.
inline constexpr int64_t kMostImages = 1 << 16;

struct BatchedGraph {
  Graph graph;
  std::vector<std::string> notes;  ///< inputs that all images share, one line each
};

/// A graph that computes `n` runs of `one` at once. Inputs and outputs whose first dimension is 1 hold the runs one
/// behind the other along it; inputs of other shapes are the same for all runs. Elements of different runs never meet:
/// a result over a whole tensor of `one` (a scale, a softmax) stays that of a single run. UserError, one line, when no
/// input has such a dimension, for an output that differs between runs and has none, and for a node for which there is
/// no rule (rules.h) or whose rule does not hold, with its name, operator and input.
BatchedGraph batched(const Graph& one, int64_t n, const OperatorTable& operators);

}  // namespace hone
