// The numbers of an attention, read from a workload's attributes.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ops/infer.h"
#include "compiler/ops/workload.h"

namespace hone {

/// b matrices (images times heads) of m queries, n keys of k elements, and n values of v elements.
struct AttentionShape {
  int64_t b = 1, m = 0, n = 0, k = 0, v = 0;
};
const AttentionShape& attention_shape(const Workload& w);

/// One operator for a product `scores`, a softmax of its rows and a product `mix` with those, on tensors of these
/// types: the inputs of the first product, the second factor of the other, the operands of both epilogues. UserError
/// where there is none.
Workload attention_of(const OperatorTable& operators, const Workload& scores, const Workload& mix,
                      const std::vector<TensorType>& types);
/// The attention `w` over the first rows of a cache, on tensors of these types. UserError where there is none.
Workload cached_attention_of(const OperatorTable& operators, const Workload& w, const std::vector<TensorType>& types);

}  // namespace hone
