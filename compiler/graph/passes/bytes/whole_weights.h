// Weights that are whole numbers times a scale, of an output channel or of a block of neighbours, found in the numbers
// themselves. Private to the passes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/graph/tensor_data.h"

namespace hone {

/// The largest magnitude of a weight of 8 bits.
inline constexpr int64_t kMostFactor = 128;

struct WholeWeights {
  std::vector<int8_t> numbers;  ///< in the order of the elements
  std::vector<double> scales;   ///< by output channel, the first axis
};

/// Of f32: numbers from -128 to 127 times a scale, in every channel; what f32 rounds is allowed for. Of s16: those that
/// s8 holds, times 1. Nothing for others: the first channel that is not so ends it.
std::optional<WholeWeights> whole_weights(const TensorData& data);

/// Of a matrix [n,k]: (number - zero point) * scale, with a scale and a zero point for each block of a row.
struct WholeBlocks {
  int64_t size = 0;              ///< elements of a block
  int64_t bits = 0;              ///< 4 where all numbers are less than 16, else 8
  std::vector<uint8_t> numbers;  ///< in the order of the elements
  std::vector<float> scales;     ///< a block each
  std::vector<uint8_t> zeros;    ///< a block each
};

/// Of f32, in the largest blocks of which this is true: rows, or 256, 128, 64, 32 or 16 elements; smaller ones where
/// only these have 4 bits. Nothing for others.
std::optional<WholeBlocks> whole_blocks(const TensorData& matrix);

}  // namespace hone
