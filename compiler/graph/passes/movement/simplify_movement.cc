#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

class MovementSimplifier : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    return is<ops::Transpose>(n) ? simplify_transpose(n) : is<ops::Reshape>(n) && simplify_reshape(n);
  }

 private:
  bool simplify_transpose(const Node& n) {
    Extents perm = perm_of(n);
    ValueId input = n.inputs[0];
    if (const Node* before = producer<ops::Transpose>(input)) {
      for (int64_t& d : perm) d = perm_of(*before)[static_cast<size_t>(d)];
      input = before->inputs[0];
    }
    // The next node sees the new form of this one.
    if (keeps_order(shape(input), perm)) return see(n, input), simplify_reshape(n);
    if (input != n.inputs[0]) become(n, transpose_of(c_.operators, type(input), perm), {input});
    return false;
  }

  bool simplify_reshape(const Node& n) {
    if (const Node* before = producer<ops::Reshape>(n.inputs[0])) see(n, before->inputs[0]);
    return shape(n.inputs[0]) == shape(n.outputs[0]) && replace(n, now(n.inputs[0]));
  }

  // `n` becomes a view of `input`.
  void see(const Node& n, ValueId input) {
    become(n, reshape_of(c_.operators, type(input), shape(n.outputs[0])), {input});
  }
};

}  // namespace

Graph simplify_movement(const Graph& g, const PassContext& context) {
  return rewritten_by<MovementSimplifier>(g, context);
}

}  // namespace hone
