// reduce: sum, mean, max, min, a norm or the logarithm of a sum over axes.
#pragma once

#include <string>
#include <vector>

#include "compiler/ops/definition.h"

namespace hone {

/// `op=mean,shape=1x64x56x56,axes=2:3,keepdims=0`, read.
struct ReduceShape {
  std::string op;  ///< sum, mean, max, min, sum_square (of squares), l1 (of sizes), l2 (its root), log_sum
  std::vector<int64_t> shape;
  std::vector<int64_t> axes;  ///< ascending, each once
  std::vector<int64_t> out;   ///< shape of the output; {1} when nothing is left
  bool keepdims = false;      ///< reduced axes stay, of one element
  int64_t length = 1;         ///< elements reduced into one
};
const ReduceShape& reduce_shape(const Workload& w);

/// reduce: data (input). Stages `reduce` and, for mean, l2 and log_sum, `out`.
Definition reduction(const Workload& w);

}  // namespace hone
