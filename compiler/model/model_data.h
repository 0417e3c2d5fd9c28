// Inputs to try a model with, and how far its outputs are from others.
#pragma once

#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/growth.h"

namespace hone {

/// The same inputs for the same graph. Whole numbers, which are ids more often than not, are small.
std::vector<TensorData> seeded_inputs(const Graph& g);
/// The inputs of a graph whose caches grow in place; the last input, the number of rows, becomes the largest one.
std::vector<TensorData> with_most_rows(std::vector<TensorData> inputs, const Graph& g, const Growth& growth);

struct Difference {
  double largest = 0;    ///< largest difference over the largest value
  double frobenius = 0;  ///< norm of the difference over that of the values
};
/// The difference between two tensors of one type; infinite where one has a NaN or infinity that the other lacks.
Difference difference(const TensorData& got, const TensorData& wanted);

}  // namespace hone
