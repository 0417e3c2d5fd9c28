#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

class ElementwiseFuser : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    while (is<ops::Elementwise>(n) && absorb_producer(n)) {
    }
    return false;
  }

 private:
  bool absorb_producer(const Node& n) {
    for (const ValueId v : std::vector<ValueId>(n.inputs)) {
      const Node* p = is_only_read_by(v, n) ? producer<ops::Elementwise>(v) : nullptr;
      if (p && join(*p, n, v)) return true;
    }
    return false;
  }

  // `p` computes `v`.
  bool join(const Node& p, const Node& n, ValueId v) {
    const ElementwiseShape &before = elementwise_shape(p.workload), &after = elementwise_shape(n.workload);
    const auto second = chain_on(n, v, c_.functions);
    if (!second || before.shape != after.shape) return false;
    // A value that was rounded to 16 bits between the two must be rounded in the chain, too.
    if (before.types.result.is_narrow_float() && before.types.result != dtype(p.inputs[0])) return false;
    const bool has_start = before.x == before.shape && dtype(p.inputs[0]) == dtype(v);
    const BoundChain both = joined(bound_chain(p), *second, v, has_start ? p.inputs[0] : kNoValue);
    std::vector<ValueId> inputs{p.inputs[0]};
    inputs.insert(inputs.end(), both.operands.begin(), both.operands.end());
    // Nothing where such a chain is not allowed: too long, too many labels.
    const auto of_both = [&] {
      auto w = elementwise_of(c_.operators, c_.functions, both.chain, types(inputs));
      return w && inferred(*w).outputs[0] == type(n.outputs[0]) ? w : std::nullopt;
    };
    return become_if_allowed(n, inputs, of_both, &p);
  }
};

}  // namespace

Graph fuse_elementwise(const Graph& g, const PassContext& context) {
  return rewritten_by<ElementwiseFuser>(g, context);
}

}  // namespace hone
