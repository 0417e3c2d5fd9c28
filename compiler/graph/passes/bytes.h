// 8-bit numbers: few enough to evaluate a function on all of them. Private to the passes.
#pragma once

#include <numeric>
#include <vector>

#include "compiler/graph/evaluate.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {

inline constexpr int64_t kBytes = 256;  ///< how many there are

inline bool is_byte(DType t) { return t == u8 || t == i8; }

/// How many more make `count` factors whole words, which a processor's dot product multiplies at once.
inline int64_t missing_of_word(int64_t count) { return (kDotBytes - count % kDotBytes) % kDotBytes; }

/// All numbers of u8 or s8, [256], in ascending order.
inline TensorData all_bytes(DType t) {
  std::vector<int64_t> all(kBytes);
  std::iota(all.begin(), all.end(), t == u8 ? 0 : -kBytes / 2);
  return TensorData::of_numbers(all, t);
}

/// The chain's result for x, the first of `inputs`, and its operands, by the interpreter.
inline TensorData evaluated(const Chain& chain, const std::vector<TensorData>& inputs, const PassContext& context) {
  std::vector<TensorType> types;
  for (const TensorData& data : inputs) types.push_back(data.type());
  const auto w = elementwise_of(context.operators, context.functions, chain, types);
  return w ? evaluate(*w, inputs)[0] : inputs[0];
}

}  // namespace hone
