// Workloads of the operators that come with Hone, from their texts.
#pragma once

#include <string_view>

#include "compiler/ops/operator.h"

namespace hone {

inline const FunctionTable& test_functions() {
  static const FunctionTable kFunctions = standard_functions();
  return kFunctions;
}
inline const OperatorTable& test_operators() {
  static const OperatorTable kOperators = standard_operators(test_functions());
  return kOperators;
}

inline Workload parse_workload(std::string_view text) { return Workload::parse(test_operators(), text); }

}  // namespace hone
