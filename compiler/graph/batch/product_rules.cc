// Rules of operators that multiply and sum, and of poolings: their first axis is that of images, or of rows.
#include <algorithm>

#include "compiler/graph/batch/rules.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

// One input of images, or of rows, which lie along its first axis.
void images(BatchedNode& n) { n.give(n.call({}, {n.stack.at(n.in[0], 0)}), n.one(), 0); }

// The same with weights.
void weighted_images(BatchedNode& n) {
  n.require_shared(1, "weight");
  n.give(n.call({}, {n.stack.at(n.in[0], 0), n.in[1]}), n.one(), 0);
}

// [m,k] by weights. Rows know nothing of each other, so those of all runs may also stand row by row beside each other,
// as they do where runs lie along k: [m,runs,k] seen as [m * runs,k].
void rows_by_weights(BatchedNode& n) {
  n.require_shared(1, "weight");
  const bool is_row_by_row = n.in[0].axis == 1 && std::none_of(n.in.begin() + 2, n.in.end(), [&](const Stacked& x) {
                               return x.axis || x.one.size() > 1;
                             });
  if (!is_row_by_row) return n.give(n.call({}, {n.stack.at(n.in[0], 0), n.in[1]}), n.one(), 0);
  const Extents& a = n.in[0].one;
  const Stacked x =
      n.stack.seen({n.in[0].id, {a[0], n.stack.runs() * a[1]}, std::nullopt}, {a[0] * n.stack.runs(), a[1]});
  const BatchedNode::Call call = n.call({}, {x, n.in[1]});
  const ValueId made = n.stack.b.add(call.workload, call.inputs)[0];
  const Extents columns = n.stack.all(n.one(), 1);
  n.out[0] = {n.stack.seen({made, {x.one[0], n.one()[1]}, std::nullopt}, columns).id, n.one(), 1};
}

void blocks_of_few_bits(BatchedNode& n) {
  n.require_shared(1, "weight");
  n.give(n.call({}, {n.stack.at(n.in[0], 0)}), n.one(), 0);
}

// [b,m,k] [b,k,n]: runs are matrices where both factors have them, rows or columns where one has.
void batch_matmul(BatchedNode& n) {
  const bool left = n.in[0].axis.has_value(), right = n.in[1].axis.has_value();
  const size_t axis = left == right ? 0 : left ? 1 : 2;
  const Stacked a = left || axis == 0 ? n.stack.at(n.in[0], axis) : n.in[0],
                b = right || axis == 0 ? n.stack.at(n.in[1], axis) : n.in[1];
  n.give(n.call({}, {a, b}, axis), n.one(), axis);
}

// x [steps,batch,gates * hidden], a mask [steps,batch], states [batch,hidden]; weights and biases that all runs share.
void recurrent(BatchedNode& n) {
  const Definition step = define(Workload::changed(n.node.workload, AttributeTexts{{"steps", "1"}, {"reverse", "0"}}));
  std::vector<Stacked> inputs;
  for (size_t i = 0; i < n.in.size(); ++i) {
    const std::string& name = step.inputs[i].first->name;
    const bool has_steps = name == "x" || name == "alive", is_state = name == "h" || name == "c";
    if (!has_steps && !is_state) n.require_shared(i, "weight");
    inputs.push_back(has_steps || is_state ? n.stack.at(n.in[i], has_steps ? 1 : 0) : n.in[i]);
  }
  const BatchedNode::Call call = n.call({}, inputs);
  std::vector<std::string> names;
  for (const ValueId v : n.node.outputs) names.push_back(n.graph.value(v).name);
  const std::vector<ValueId> ids = n.stack.b.add(call.workload, call.inputs, names);
  for (size_t o = 0; o < ids.size(); ++o) {
    n.out[o] = {ids[o], n.one(o), n.one(o).size() == 3 ? 1 : 0};
    HONE_ICHECK(n.stack.b.type(ids[o]).shape == n.stack.all(n.one(o), n.out[o].axis)) << "output " << o << " of a step";
  }
}

}  // namespace

void add_product_rules(BatchRules& t) {
  for (const char* op : {"conv2d", "depthwise_conv2d"}) t[op] = &weighted_images;
  for (const char* op : {"max_pool2d", "avg_pool2d", "depth_to_space", "space_to_depth"}) t[op] = &images;
  for (const char* op : {"lstm", "gru", "rnn"}) t[op] = &recurrent;
  t["dense"] = &rows_by_weights;
  t["dense_nbits"] = &blocks_of_few_bits;
  t["batch_matmul"] = &batch_matmul;
}

}  // namespace hone
