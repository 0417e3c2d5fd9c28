// Vectors of indices whose lanes differ by constants. Private to codegen/llvm.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/expr.h"

namespace hone {

/// A vector of indices: lane l is base + offsets[l].
struct LaneOffsets {
  Expr base;  ///< scalar
  std::vector<int64_t> offsets;
};

/// `index`, of integers, as a sum of broadcasts and of terms made from ramps between constants: broadcast(i*64, 8) +
/// floordiv(ramp(0, 1, 8), 4) + floormod(ramp(0, 1, 8), 4) * 512. Nothing for other vectors.
std::optional<LaneOffsets> lane_offsets(const Expr& index);

/// How many rows of neighbouring elements the lanes take turns in: the least of 2 to `most` for which a lane's element
/// is the next one of that so many lanes before. 0: none.
int64_t interleaved_rows(const std::vector<int64_t>& offsets, int64_t most);

}  // namespace hone
