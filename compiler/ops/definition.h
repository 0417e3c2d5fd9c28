// Workloads as compute definitions on logical tensors.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ops/workload.h"
#include "compiler/te/tensor.h"

namespace hone {

/// A workload written down: its parameters in order, and its stages.
struct Definition {
  std::vector<std::pair<Tensor, ParamRole>> inputs;
  Tensor output;
  /// The stage that templates tile; what follows it is elementwise. Null where no stage stands out.
  Tensor anchor;
};

/// As the workload's operator defines it.
Definition define(const Workload& w);

/// Bytes of all inputs, constants and the output, each counted once: what must move at least when nothing is in a
/// cache.
double tensor_bytes(const Workload& w);

}  // namespace hone
