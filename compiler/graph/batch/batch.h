// Models that were exported for one image, built for several: the graph that computes what as many runs would.
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

/// What `n` runs of `one` compute, in one. Inputs whose first dimension is 1 hold a run behind the other along it, and
/// so does every output whose first dimension is 1; inputs of other shapes are the same for all runs. Elements of
/// different runs never meet: what `one` computes over all of a tensor (a scale, a softmax) stays that of a run.
/// UserError, one line, where no input has such a dimension, for an output that differs between runs and has none, and
/// for a node for which there is no rule (rules.h) or whose rule does not hold, by its name, operator and input.
BatchedGraph batched(const Graph& one, int64_t n, const OperatorTable& operators);

}  // namespace hone
