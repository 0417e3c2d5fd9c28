// Workloads as compute definitions on logical tensors.
#pragma once

#include <utility>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ops/workload.h"
#include "compiler/te/tensor.h"

namespace hone {

/// A computation written down: its parameters in order (inputs, then outputs), and its stages.
struct Definition {
  std::vector<std::pair<Tensor, ParamRole>> inputs;
  std::vector<Tensor> outputs;  ///< at least one; one may be computed from another
  /// The stage that templates tile; stages behind it are elementwise. Null where no stage stands out.
  Tensor anchor;
  /// Relative error that a kernel's product of two elements in a sum may have in addition to its type's rounding: tf32
  /// rounds its factors. 0 where products are as exact as their type.
  double factor_error = 0;

  /// The only output. InternalError where there are several.
  const Tensor& output() const;
};

/// As the workload's operator defines it. UserError where it is a function in C alone (host_function.h).
Definition define(const Workload& w);

/// The stages of `d`, each after those it reads; without placeholders.
std::vector<const TensorNode*> stages_of(const Definition& d);

/// Bytes of all inputs, constants and outputs, each counted once: the least traffic when no data is in a
/// cache.
double tensor_bytes(const Workload& w);

}  // namespace hone
