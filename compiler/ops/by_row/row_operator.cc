#include "compiler/ops/by_row/row_operator.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace hone {

Workload row_operator_of(const OperatorTable& operators, const RowOperator& op, const std::vector<TensorType>& types) {
  constexpr std::string_view kNames[] = {"softmax", "layer_norm", "rms_norm", "l2_norm"};
  AttributeTexts given{{"axis", std::to_string(op.axis)}};
  if (op.kind != RowOperator::kSoftmax) given.emplace_back("eps", fmt::format("{}", op.eps));
  if (op.kind == RowOperator::kLayerNorm || op.kind == RowOperator::kRmsNorm)
    given.emplace_back("scale", op.has_scale ? "1" : "0");
  if (op.kind == RowOperator::kLayerNorm) given.emplace_back("bias", op.has_bias ? "1" : "0");
  return infer(operators, kNames[op.kind], given, types).workload;
}

}  // namespace hone
