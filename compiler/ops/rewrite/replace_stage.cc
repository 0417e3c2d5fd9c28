#include "compiler/ops/rewrite/replace_stage.h"

namespace hone {

Ref<const TensorNode> remade(const TensorNode& t, Expr body, std::vector<Ref<const TensorNode>> inputs) {
  TensorNode* node = copied_node(t);
  Ref<const TensorNode> owner(node);
  node->body = std::move(body);
  node->inputs = std::move(inputs);
  return owner;
}

Ref<const TensorNode> StageReplacer::operator()(const Ref<const TensorNode>& stage) {
  for (const auto& [old, fresh] : made_)
    if (old == stage.get()) return fresh;
  std::vector<Ref<const TensorNode>> inputs;
  bool changed = false;
  for (const auto& in : stage->inputs) {
    inputs.push_back((*this)(in));
    changed = changed || !inputs.back().same_as(in);
  }
  Ref<const TensorNode> result = changed ? remade(*stage, stage->body, std::move(inputs)) : stage;
  made_.emplace_back(stage.get(), result);
  return result;
}

}  // namespace hone
