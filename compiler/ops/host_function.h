// Operators whose layers are functions in C: sequential ones, and those whose result's size depends on data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ops/infer.h"
#include "compiler/runtime/host_functions/host_functions.h"

namespace hone {

/// How a workload is computed by a function of compiler/runtime/host_functions.
struct HostFunction {
  std::string name;              ///< `nonzero`: hone_internal_nonzero
  std::vector<int64_t> numbers;  ///< its sizes, as it wants them
  std::vector<TensorType> inputs, outputs;
  int64_t workspace_bytes = 0;
  HoneHostFunction call = nullptr;  ///< that function in this process
};

/// Bytes of all these tensors together.
int64_t bytes_of_all(const std::vector<TensorType>& types);

/// Nothing for workloads that templates make kernels of.
std::optional<HostFunction> host_function_of(const Workload& w);

/// The code for a type by which host functions compare its elements (host_functions/order.h).
int64_t order_code(DType t);

}  // namespace hone
