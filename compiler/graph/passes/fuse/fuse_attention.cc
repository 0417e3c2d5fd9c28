#include <fmt/format.h>

#include "base/text.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/by_row/rows.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/products/attention.h"
#include "compiler/ops/products/product.h"

namespace hone {
namespace {

class AttentionFuser : public Rewriter {
 public:
  using Rewriter::Rewriter;

  // softmax(Q K) V   ->   attention
  bool rewrite(const Node& n) {
    const Node* softmax =
        is<ops::BatchMatmul>(n) ? producer<ops::Softmax>(in_front_of<ops::Reshape>(n.inputs[0])) : nullptr;
    if (!softmax) return false;
    const std::string origin = softmax->origin, why = fuse(n, *softmax);
    if (!why.empty() && c_.notes) c_.notes->say_too(origin, "no attention: " + why);
    return false;
  }

 private:
  // Whether `v` is read once, and so is what it is a view of.
  bool is_own(ValueId v) const {
    while (const Node* view = own_producer<ops::Reshape>(v)) v = view->inputs[0];
    return own_producer(v) != nullptr;
  }
  bool is_plain(const Node& n) const {
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    return !has_prologue(n) && (t.in == f32 || t.in == f64) && t.out == t.in && t.accumulate == t.in && !t.tf32;
  }

  // Empty, or why not.
  std::string fuse(const Node& mix, const Node& softmax) {
    const Node* dots = producer<ops::BatchMatmul>(in_front_of<ops::Reshape>(softmax.inputs[0]));
    if (!dots) return "no product computes its scores";
    if (!is_own(mix.inputs[0])) return "others read its shares, too";
    if (!is_own(softmax.inputs[0])) return "others read its scores, too";
    for (const Node* part : {&mix, &softmax, dots})
      if (!is_plain(*part))
        return fmt::format("{} is not of f32 or f64 throughout, or has a prologue", part->workload.operator_name());
    if (has_epilogue(softmax)) return "its shares are changed before they mix";
    const RowsShape& rows = rows_shape(softmax.workload);
    const ProductShape &first = product_shape(dots->workload), &second = product_shape(mix.workload);
    // The rows of all three are the same: views keep the order of elements.
    if (rows.axes != std::vector<size_t>{rows.shape.size() - 1} || rows.length != first.n || second.k != first.n ||
        second.b != first.b || second.m != first.m)
      return "its rows are not those of both products";
    std::vector<ValueId> inputs{dots->inputs[0], dots->inputs[1], mix.inputs[1]};
    inputs.insert(inputs.end(), dots->inputs.begin() + 2, dots->inputs.end());
    inputs.insert(inputs.end(), mix.inputs.begin() + 2, mix.inputs.end());
    try {
      become(mix, attention_of(c_.operators, dots->workload, mix.workload, types(inputs)), inputs, dots);
    } catch (const UserError& e) {  // there is no such operator, or not with these chains
      return clean_line(e.what(), 300);
    }
    return "";
  }
};

}  // namespace

Graph fuse_attention(const Graph& g, const PassContext& context) { return rewritten_by<AttentionFuser>(g, context); }

}  // namespace hone
