// 8-bit numbers: few enough to evaluate a function on all of them. Private to the passes.
#pragma once

#include <numeric>
#include <vector>

#include "compiler/graph/graph.h"

namespace hone {

inline constexpr int64_t kBytes = 256;  ///< how many there are

inline bool is_byte(DType t) { return t == u8 || t == i8; }

/// All numbers of u8 or s8, [256], in ascending order.
inline TensorData all_bytes(DType t) {
  std::vector<int64_t> all(kBytes);
  std::iota(all.begin(), all.end(), t == u8 ? 0 : -kBytes / 2);
  return TensorData::of_numbers(all, t);
}

}  // namespace hone
