#include <algorithm>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

class ElementwiseFuser {
 public:
  ElementwiseFuser(const Graph& g, const PassContext& context) : g_(g), c_(context), uses_(uses_of(g)) {}

  Graph run() {
    for (size_t n = 0; n < g_.nodes.size(); ++n)
      while (absorb_producer(&g_.nodes[n])) {
      }
    return remove_dead(g_);
  }

 private:
  static bool is_elementwise(const Node& n) { return is<ops::Elementwise>(n); }

  // The elementwise node that computes `v`, which only `reader` reads.
  const Node* own_producer(ValueId v, const Node* reader) const {
    const Node* p = uses_.is_output[v] ? nullptr : producer_of(g_, uses_, v);
    const auto is_reader = [&](int n) { return &g_.nodes[n] == reader; };
    return p && is_elementwise(*p) && std::all_of(uses_.readers[v].begin(), uses_.readers[v].end(), is_reader)
               ? p
               : nullptr;
  }

  bool absorb_producer(Node* n) {
    if (!is_elementwise(*n)) return false;
    for (const ValueId v : std::vector<ValueId>(n->inputs)) {
      const Node* p = own_producer(v, n);
      if (!p) continue;
      if (join(*p, n, v)) return true;
      const Node old = *n;
      if (exchange(n, v)) {
        if (join(*p, n, v)) return true;
        *n = old;  // it reads the same values
      }
    }
    return false;
  }

  // Makes `v`, the operand of the first function, the first input.
  bool exchange(Node* n, ValueId v) {
    const ElementwiseShape& s = elementwise_shape(n->workload);
    const ChainLink& first = s.chain.links.front();
    if (!first.function || n->inputs.size() < 2 || n->inputs[1] != v || first.arguments.size() != 1 ||
        !std::holds_alternative<Operand>(first.arguments[0]))
      return false;
    const std::string_view other = exchanged(first.function->name);
    const auto function = other.empty() ? nullptr : c_.functions.find(other);
    if (!function || std::count(n->inputs.begin(), n->inputs.end(), v) != 1) return false;
    BoundChain chain{s.chain, {n->inputs.begin() + 1, n->inputs.end()}};
    chain.chain.links.front().function = function;
    chain.operands[0] = n->inputs[0];
    return become(n, chain, v);
  }

  // `p` computes `v`.
  bool join(const Node& p, Node* n, ValueId v) {
    const ElementwiseShape &before = elementwise_shape(p.workload), &after = elementwise_shape(n->workload);
    if (n->inputs[0] != v || before.shape != after.shape) return false;
    // What is rounded to 16 bits on the way must be rounded in the chain, too.
    if (before.types.result.is_narrow_float() && before.types.result != g_.value(p.inputs[0]).type.dtype) return false;
    const BoundChain first{before.chain, {p.inputs.begin() + 1, p.inputs.end()}},
        second{after.chain, {n->inputs.begin() + 1, n->inputs.end()}};
    const bool has_start = before.x == before.shape && g_.value(p.inputs[0]).type.dtype == g_.value(v).type.dtype;
    if (!become(n, joined(first, second, v, has_start ? p.inputs[0] : kNoValue), p.inputs[0])) return false;
    if (!p.origin.empty() && p.origin != n->origin) n->origin = p.origin + " + " + n->origin;
    return true;
  }

  // False, and nothing changed, where such a chain is not allowed: too long, too many labels.
  bool become(Node* n, const BoundChain& chain, ValueId x) {
    const Node old = *n;
    try {
      std::vector<TensorType> types{g_.value(x).type};
      for (const ValueId v : chain.operands) types.push_back(g_.value(v).type);
      const auto now = elementwise_of(c_.operators, c_.functions, chain.chain, types);
      if (!now || inferred(*now).outputs[0] != g_.value(n->outputs[0]).type) return false;
      n->workload = *now;
      n->inputs = {x};
      n->inputs.insert(n->inputs.end(), chain.operands.begin(), chain.operands.end());
    } catch (const UserError&) {
      return false;
    }
    const int number = static_cast<int>(n - g_.nodes.data());
    for (const ValueId v : old.inputs) std::erase(uses_.readers[v], number);
    for (const ValueId v : n->inputs) uses_.readers[v].push_back(number);
    return true;
  }

  Graph g_;
  const PassContext& c_;
  Uses uses_;
};

}  // namespace

Graph fuse_elementwise(const Graph& g, const PassContext& context) { return ElementwiseFuser(g, context).run(); }

}  // namespace hone
