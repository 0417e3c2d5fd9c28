#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/by_row/rows.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/attention.h"
#include "compiler/ops/products/product.h"

namespace hone {
namespace {

class AttentionFuser {
 public:
  AttentionFuser(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) {
      if (is<ops::BatchMatmul>(n)) fuse(n);
      return false;
    });
  }

 private:
  struct Producer {
    const Node* node = nullptr;  ///< null: no node computes the value
    bool is_own = true;          ///< it has no other reader on the way
  };

  // The node that computes `v`, perhaps behind views.
  Producer producer_of(ValueId v) const {
    for (Producer out;;) {
      out.node = r_.producer(v);
      if (!out.node) return {};
      out.is_own = out.is_own && r_.own_producer(v);
      if (!is<ops::Reshape>(*out.node)) return out;
      v = out.node->inputs[0];
    }
  }
  bool is_plain(const Node& n) const {
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    return n.workload.attributes.text("prologue") == "none" && (t.in == f32 || t.in == f64) && t.out == t.in &&
           t.accumulate == t.in && !t.tf32;
  }

  // softmax(Q K) V   ->   attention
  void fuse(const Node& mix) {
    const Producer softmax = producer_of(mix.inputs[0]);
    if (!softmax.node || !is<ops::Softmax>(*softmax.node)) return;
    const std::string origin = softmax.node->origin, why = fuse(mix, softmax);
    if (!why.empty() && c_.notes) c_.notes->say_too(origin, "no attention: " + why);
  }

  // Empty, or why not.
  std::string fuse(const Node& mix, const Producer& softmax) {
    const Producer scores = producer_of(softmax.node->inputs[0]);
    if (!scores.node || !is<ops::BatchMatmul>(*scores.node)) return "no product computes its scores";
    if (!softmax.is_own) return "others read its shares, too";
    if (!scores.is_own) return "others read its scores, too";
    const Node* dots = scores.node;
    for (const Node* part : {&mix, softmax.node, dots})
      if (!is_plain(*part))
        return fmt::format("{} is not of f32 or f64 throughout, or has a prologue", part->workload.operator_name());
    if (softmax.node->workload.attributes.text("epilogue") != "none") return "its shares are changed before they mix";
    const RowsShape& rows = rows_shape(softmax.node->workload);
    const ProductShape &first = product_shape(dots->workload), &second = product_shape(mix.workload);
    // The rows of all three are the same: views keep the order of elements.
    if (rows.axes != std::vector<size_t>{rows.shape.size() - 1} || rows.length != first.n || second.k != first.n ||
        second.b != first.b || second.m != first.m)
      return "its rows are not those of both products";
    std::vector<ValueId> inputs{dots->inputs[0], dots->inputs[1], mix.inputs[1]};
    inputs.insert(inputs.end(), dots->inputs.begin() + 2, dots->inputs.end());
    inputs.insert(inputs.end(), mix.inputs.begin() + 2, mix.inputs.end());
    std::vector<TensorType> types;
    for (const ValueId v : inputs) types.push_back(r_.type(v));
    try {
      r_.become(mix, attention_of(c_.operators, dots->workload, mix.workload, types), std::move(inputs), dots);
    } catch (const UserError& e) {  // there is no such operator, or not with these chains
      return clean_line(e.what(), 300);
    }
    return "";
  }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph fuse_attention(const Graph& g, const PassContext& context) { return AttentionFuser(g, context).run(); }

}  // namespace hone
