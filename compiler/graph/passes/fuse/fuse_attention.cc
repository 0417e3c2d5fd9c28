#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ops/by_row/rows.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/product.h"

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
  struct Producer {
    const Node* node = nullptr;  ///< null: no node computes the value
    bool is_own = true;          ///< nobody else reads it on the way
  };

  // The node that computes `v`, perhaps behind views.
  Producer producer_of(ValueId v) const {
    for (Producer out;;) {
      out.node = hone::producer_of(g_, uses_, v);
      if (!out.node) return {};
      out.is_own = out.is_own && own_producer_of(g_, uses_, v);
      if (!is<ops::Reshape>(*out.node)) return out;
      v = out.node->inputs[0];
    }
  }
  bool is_plain(const Node& n) const {
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    return n.workload.attributes.text("prologue") == "none" && (t.in == f32 || t.in == f64) && t.out == t.in &&
           t.accumulate == t.in && !t.tf32;
  }
  static bool is_product(const Node& n) { return is<ops::BatchMatmul>(n); }

  // softmax(Q K) V   ->   attention
  void fuse(Node* mix) {
    if (!is_product(*mix)) return;
    const Producer softmax = producer_of(mix->inputs[0]);
    if (!softmax.node || !is<ops::Softmax>(*softmax.node)) return;
    const std::string origin = softmax.node->origin, why = fuse(mix, softmax);
    if (!why.empty() && c_.notes) c_.notes->say_too(origin, "no attention: " + why);
  }

  // Empty, or why not.
  std::string fuse(Node* mix, const Producer& softmax) {
    const Producer scores = producer_of(softmax.node->inputs[0]);
    if (!scores.node || !is_product(*scores.node)) return "no product computes its scores";
    if (!softmax.is_own) return "others read its shares, too";
    if (!scores.is_own) return "others read its scores, too";
    const Node* dots = scores.node;
    for (const Node* part : {static_cast<const Node*>(mix), softmax.node, dots})
      if (!is_plain(*part))
        return fmt::format("{} is not of f32 or f64 throughout, or has a prologue", part->workload.task());
    if (softmax.node->workload.attributes.text("epilogue") != "none") return "its shares are changed before they mix";
    const RowsShape& rows = rows_shape(softmax.node->workload);
    const ProductShape &first = product_shape(dots->workload), &second = product_shape(mix->workload);
    // The rows of all three are the same: views keep the order of elements.
    if (rows.axes != std::vector<size_t>{rows.shape.size() - 1} || rows.length != first.n || second.k != first.n ||
        second.b != first.b || second.m != first.m)
      return "its rows are not those of both products";
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
    } catch (const UserError& e) {  // there is no such operator, or not with these chains
      return clean_line(e.what(), 300);
    }
    mix->inputs = std::move(inputs);
    if (!dots->origin.empty() && dots->origin != mix->origin) mix->origin = dots->origin + " + " + mix->origin;
    return "";
  }

  Graph g_;
  const PassContext& c_;
  const Uses uses_;
};

}  // namespace

Graph fuse_attention(const Graph& g, const PassContext& context) { return AttentionFuser(g, context).run(); }

}  // namespace hone
