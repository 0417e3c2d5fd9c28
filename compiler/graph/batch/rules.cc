#include "compiler/graph/batch/rules.h"

#include <algorithm>

#include "compiler/ops/operator.h"

namespace hone {

void BatchedNode::require_shared(size_t i, std::string_view what) const {
  HONE_USER_CHECK(!in[i].axis) << "its " << what << " differs between images";
}

BatchedNode::Call BatchedNode::call(AttributeTexts changes, const std::vector<Stacked>& inputs, size_t axis) const {
  Call c;
  std::vector<TensorType> types;
  for (const Stacked& x : inputs) c.inputs.push_back(x.id), types.push_back(stack.b.type(x.id));
  for (size_t i = inputs.size(); i < in.size(); ++i) types.push_back(stack.b.type(in[i].id));
  // The node's own `dtype` says the types of sums and outputs, too.
  for (auto& [name, text] : node.workload.op->infer(types))
    if (name != "dtype") changes.emplace_back(name, text);
  c.workload = Workload::changed(node.workload, changes);
  const std::vector<TensorType> wanted = inferred(c.workload).inputs;
  for (size_t i = inputs.size(); i < in.size(); ++i) {
    const bool is_of_all = axis < in[i].one.size() && wanted[i].shape == stack.all(in[i].one, axis);
    const bool is_shared = !in[i].axis && wanted[i].shape == in[i].one;
    HONE_USER_CHECK(is_of_all || is_shared) << "what it reads behind its first inputs differs between images";
    c.inputs.push_back(is_of_all ? stack.at(in[i], axis).id : in[i].id);
  }
  return c;
}

void BatchedNode::give(const Call& call, const Extents& made, size_t axis) {
  const std::string& name = graph.value(node.outputs[0]).name;
  const std::vector<ValueId> ids = stack.b.add(call.workload, call.inputs, {name});
  HONE_ICHECK(ids.size() == 1 && stack.b.type(ids[0]).shape == stack.all(made, axis))
      << "the rule of " << node.workload.operator_name() << " gives " << to_string(stack.b.type(ids[0]));
  out[0] = stack.seen({ids[0], made, axis}, one());
}

const BatchRules& batch_rules() {
  static const BatchRules table = [] {
    BatchRules t;
    add_product_rules(t);
    add_row_rules(t);
    add_movement_rules(t);
    add_gather_rules(t);
    return t;
  }();
  return table;
}

}  // namespace hone
