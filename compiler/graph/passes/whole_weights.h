// Weights that are whole numbers times a scale for each output channel, found in the numbers themselves. Private to the
// passes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/tensor_data.h"

namespace hone {

struct WholeWeights {
  std::vector<int8_t> numbers;  ///< in the order of the elements
  std::vector<double> scales;   ///< by output channel, the first axis
};

/// Of f32: numbers from -128 to 127 times a scale, in every channel; what f32 rounds is allowed for. Of s16: those that
/// s8 holds, times 1. Nothing for others: the first channel that is not so ends it.
std::optional<WholeWeights> whole_weights(const TensorData& data);

}  // namespace hone
