// Inputs to try a model with, and how far its outputs are from others.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

/// The same inputs for the same graph. Whole numbers, which are ids more often than not, are small.
std::vector<TensorData> seeded_inputs(const Graph& g);

struct Difference {
  double largest = 0;    ///< largest difference over the largest value
  double frobenius = 0;  ///< norm of the difference over that of the values
};
/// Of two tensors of one type; infinite where one has a NaN or an infinity and the other has not the same.
Difference difference(const TensorData& got, const TensorData& wanted);

}  // namespace hone
