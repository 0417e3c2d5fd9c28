// The numbers of an attention, read from a workload's attributes.
#pragma once

#include <cstdint>

#include "compiler/ops/workload.h"

namespace hone {

/// b matrices (images times heads) of m queries, n keys of k elements, and n values of v elements.
struct AttentionShape {
  int64_t b = 1, m = 0, n = 0, k = 0, v = 0;
};
const AttentionShape& attention_shape(const Workload& w);

}  // namespace hone
