// Operators over rows, by kind and parameters: passes that recognise one in several nodes make it of this.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ops/infer.h"

namespace hone {

struct RowOperator {
  enum Kind : uint8_t { kSoftmax, kLayerNorm, kRmsNorm, kL2Norm };
  Kind kind = kSoftmax;
  int64_t axis = 0;  ///< of norms: the first of a row's axes
  double eps = 0;    ///< of norms
  /// A constant for each element of a row: the factor of layer_norm and rms_norm, the summand of layer_norm.
  bool has_scale = false, has_bias = false;
};

/// Its workload on tensors of these types: x, the scale, the bias. UserError where there is no such operator, or not of
/// these types.
Workload row_operator_of(const OperatorTable& operators, const RowOperator& op, const std::vector<TensorType>& types);

}  // namespace hone
