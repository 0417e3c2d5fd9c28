// Outputs whose extents a call finds out (Port::extent), as the model has them.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

/// `outputs` of `g`, which has all of them, with as many elements as there are; without the counts that `g` has behind
/// the model's own outputs. InternalError for a count that is more than there is room for.
std::vector<TensorData> cut_to_extents(const Graph& g, const std::vector<TensorData>& outputs);

}  // namespace hone
