#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

class ElementwiseFuser {
 public:
  ElementwiseFuser(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) {
      while (is<ops::Elementwise>(n) && absorb_producer(n)) {
      }
      return false;
    });
  }

 private:
  bool absorb_producer(const Node& n) {
    for (const ValueId v : std::vector<ValueId>(n.inputs)) {
      const Node* p = r_.is_only_read_by(v, n) ? r_.producer(v) : nullptr;
      if (!p || !is<ops::Elementwise>(*p)) continue;
      if (join(*p, n, v)) return true;
      const Node old = n;
      if (!exchange(n, v)) continue;
      if (join(*p, n, v)) return true;
      r_.become(n, old.workload, old.inputs);
    }
    return false;
  }

  // Makes `v`, the operand of the first function, the first input.
  bool exchange(const Node& n, ValueId v) {
    if (n.inputs.size() < 2 || n.inputs[1] != v) return false;
    const auto chain = exchanged_chain(bound_chain(n), n.inputs[0], c_.functions);
    return chain && become(n, *chain, v, nullptr);
  }

  // `p` computes `v`.
  bool join(const Node& p, const Node& n, ValueId v) {
    const ElementwiseShape &before = elementwise_shape(p.workload), &after = elementwise_shape(n.workload);
    if (n.inputs[0] != v || before.shape != after.shape) return false;
    // A value that was rounded to 16 bits between the two must be rounded in the chain, too.
    if (before.types.result.is_narrow_float() && before.types.result != r_.type(p.inputs[0]).dtype) return false;
    const bool has_start = before.x == before.shape && r_.type(p.inputs[0]).dtype == r_.type(v).dtype;
    const BoundChain both = joined(bound_chain(p), bound_chain(n), v, has_start ? p.inputs[0] : kNoValue);
    return become(n, both, p.inputs[0], &p);
  }

  // False, and nothing changed, where such a chain is not allowed: too long, too many labels.
  bool become(const Node& n, const BoundChain& chain, ValueId x, const Node* absorbed) {
    std::vector<ValueId> inputs{x};
    inputs.insert(inputs.end(), chain.operands.begin(), chain.operands.end());
    std::vector<TensorType> types;
    for (const ValueId v : inputs) types.push_back(r_.type(v));
    try {
      const auto now = elementwise_of(c_.operators, c_.functions, chain.chain, types);
      if (!now || inferred(*now).outputs[0] != r_.type(n.outputs[0])) return false;
      r_.become(n, *now, std::move(inputs), absorbed);
      return true;
    } catch (const UserError&) {
      return false;
    }
  }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph fuse_elementwise(const Graph& g, const PassContext& context) { return ElementwiseFuser(g, context).run(); }

}  // namespace hone
