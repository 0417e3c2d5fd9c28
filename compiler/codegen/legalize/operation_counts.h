// Counts of the operations that a kernel executes, from its legalized form.
#pragma once

#include "compiler/ir/module.h"

namespace hone {

/// Conditions count as true (in a nest of two versions the first counts), and a Select counts as its side with more
/// operations. Operations are lanes: a vector of 16 sums is 16.
struct OperationCounts {
  double flops = 0;         ///< floating-point sums, differences, products, quotients, minima, maxima, calls
  double integer_ops = 0;   ///< the same on integers that are loaded, not those of indices
  double loaded_bytes = 0;  ///< from parameters and the workspace, by every Load
  double stored_bytes = 0;  ///< bytes stored to parameters and the workspace
  int64_t stack_bytes = 0;  ///< of the largest stack buffers alive together
};

/// `legalized` as legalize() leaves it; loops have constant extents.
OperationCounts count_operations(const Stmt& legalized);

}  // namespace hone
