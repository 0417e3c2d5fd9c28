// Definitions with some of their stages replaced.
#pragma once

#include <utility>
#include <vector>

#include "compiler/te/tensor.h"

namespace hone {

/// A stage like `t`, in the same buffer, that computes `body` of `inputs`.
Ref<const TensorNode> remade(const TensorNode& t, Expr body, std::vector<Ref<const TensorNode>> inputs);

/// Rebuilds the stages that depend on a replaced one. The replacement has the same buffer; a stage with several readers
/// stays one stage.
class StageReplacer {
 public:
  void replace(const TensorNode* from, const Ref<const TensorNode>& to) { made_.emplace_back(from, to); }
  Ref<const TensorNode> operator()(const Ref<const TensorNode>& stage);

 private:
  std::vector<std::pair<const TensorNode*, Ref<const TensorNode>>> made_;
};

}  // namespace hone
