#include <algorithm>

#include "compiler/graph/passes/passes.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/product.h"
#include "compiler/ops/rows.h"

namespace hone {
namespace {

class AttentionFuser {
 public:
  AttentionFuser(const Graph& g, const PassContext& context) : g_(g), c_(context), uses_(uses_of(g)) {}

  Graph run() {
    for (Node& n : g_.nodes) fuse(&n);
    return remove_dead(g_);
  }

 private:
  // The node that computes `v`, perhaps behind views, where nobody else reads it on the way.
  const Node* own_producer(ValueId v) const {
    for (;;) {
      const auto i = static_cast<size_t>(v);
      if (uses_.producer[i] < 0 || uses_.is_output[i] || uses_.readers[i].size() != 1) return nullptr;
      const Node& n = g_.nodes[static_cast<size_t>(uses_.producer[i])];
      if (n.workload.task() != "reshape") return &n;
      v = n.inputs[0];
    }
  }
  bool is_plain(const Node& n) const {
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    return n.workload.attributes.text("prologue") == "none" && (t.in == f32 || t.in == f64) && t.out == t.in &&
           t.accumulate == t.in && !t.tf32;
  }
  bool is_product(const Node* n) const { return n && n->workload.task() == "batch_matmul" && is_plain(*n); }

  // softmax(Q K) V   ->   attention
  void fuse(Node* mix) {
    if (!is_product(mix)) return;
    const Node* softmax = own_producer(mix->inputs[0]);
    if (!softmax || softmax->workload.task() != "softmax" || !is_plain(*softmax) ||
        softmax->workload.attributes.text("epilogue") != "none")
      return;
    const Node* dots = own_producer(softmax->inputs[0]);
    if (!is_product(dots)) return;
    const RowsShape& rows = rows_shape(softmax->workload);
    const ProductShape &first = product_shape(dots->workload), &second = product_shape(mix->workload);
    // The rows of all three are the same: views keep the order of elements.
    if (rows.axes != std::vector<size_t>{rows.shape.size() - 1} || rows.length != first.n || second.k != first.n ||
        second.b != first.b || second.m != first.m)
      return;
    std::vector<ValueId> inputs{dots->inputs[0], dots->inputs[1], mix->inputs[1]};
    inputs.insert(inputs.end(), dots->inputs.begin() + 2, dots->inputs.end());
    inputs.insert(inputs.end(), mix->inputs.begin() + 2, mix->inputs.end());
    std::vector<TensorType> types;
    for (const ValueId v : inputs) types.push_back(g_.value(v).type);
    try {
      mix->workload = infer(c_.operators, "attention",
                            AttributeTexts{{"scores", dots->workload.attributes.text("epilogue")},
                                           {"epilogue", mix->workload.attributes.text("epilogue")}},
                            types)
                          .workload;
    } catch (const UserError&) {  // there is no such operator, or not with these chains
      return;
    }
    mix->inputs = std::move(inputs);
    if (!dots->origin.empty() && dots->origin != mix->origin) mix->origin = dots->origin + " + " + mix->origin;
  }

  Graph g_;
  const PassContext& c_;
  const Uses uses_;
};

}  // namespace

Graph fuse_attention(const Graph& g, const PassContext& context) { return AttentionFuser(g, context).run(); }

}  // namespace hone
