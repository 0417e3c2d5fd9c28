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

/// Weights as whole numbers. From f32: numbers from -128 to 127 times a scale in every channel, up to f32's roundings.
/// From s16: those that s8 holds, times 1. Nothing for others: the first channel that does not fit ends the search.
std::optional<WholeWeights> whole_weights(const TensorData& data);

/// A matrix [n,k] in blocks: (number - zero point) * scale, with a scale and a zero point for each block of a row.
struct WholeBlocks {
  int64_t size = 0;              ///< elements of a block
  int64_t bits = 0;              ///< 4 where all numbers are less than 16, else 8
  std::vector<uint8_t> numbers;  ///< in the order of the elements
  std::vector<float> scales;     ///< a block each
  std::vector<uint8_t> zeros;    ///< a block each
};

/// The matrix, of f32, in the largest blocks that represent it: rows, or 256, 128, 64, 32 or 16 elements; smaller ones
/// when only these fit in 4 bits. Nothing when there are none.
std::optional<WholeBlocks> whole_blocks(const TensorData& matrix);

}  // namespace hone
