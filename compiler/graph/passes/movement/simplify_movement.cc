#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

bool moves_nothing(const Extents& shape, const Extents& perm) {
  int64_t last = -1;  // of the axes that have more than one element
  for (const int64_t d : perm) {
    if (shape[static_cast<size_t>(d)] == 1) continue;
    if (d < last) return false;
    last = d;
  }
  return true;
}

class MovementSimplifier {
 public:
  MovementSimplifier(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) {
      return is<ops::Transpose>(n) ? simplify_transpose(n) : is<ops::Reshape>(n) && simplify_reshape(n);
    });
  }

 private:
  bool simplify_transpose(const Node& n) {
    Extents perm = n.workload.attributes.get<Extents>("perm");
    ValueId input = n.inputs[0];
    const Node* before = r_.producer(input);
    if (before && is<ops::Transpose>(*before)) {
      for (int64_t& d : perm) d = before->workload.attributes.get<Extents>("perm")[static_cast<size_t>(d)];
      input = before->inputs[0];
    }
    // The next node sees the new form of this one.
    if (moves_nothing(r_.shape(input), perm))
      return r_.become(n, reshape_of(c_.operators, r_.type(input), r_.shape(n.outputs[0])), {input}),
             simplify_reshape(n);
    if (input != n.inputs[0]) r_.become(n, transpose_of(c_.operators, r_.type(input), perm), {input});
    return false;
  }

  bool simplify_reshape(const Node& n) {
    ValueId input = n.inputs[0];
    const Node* before = r_.producer(input);
    if (before && is<ops::Reshape>(*before)) {
      input = before->inputs[0];
      r_.become(n, reshape_of(c_.operators, r_.type(input), r_.shape(n.outputs[0])), {input});
    }
    const bool is_same = r_.shape(input) == r_.shape(n.outputs[0]);
    if (is_same) r_.stand_in(n.outputs[0], r_.now(input));
    return is_same;
  }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph simplify_movement(const Graph& g, const PassContext& context) { return MovementSimplifier(g, context).run(); }

}  // namespace hone
