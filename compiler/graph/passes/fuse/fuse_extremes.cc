#include <map>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/by_row/reduce.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

// A reduction that becomes an output of its input's producer, and the functions behind it.
struct FusedExtreme {
  int maker;
  bool is_most;
  std::optional<Workload> behind;  ///< elementwise, of one element; nothing: there are none
};

class ExtremeFuser : public Rewriter {
 public:
  ExtremeFuser(const Graph& g, const PassContext& context) : Rewriter(g, context) {
    for (const Node& n : graph().nodes) {
      fused_.push_back(fused_of(n));
      if (fused_.back()) outputs_[fused_.back()->maker];
    }
  }

  bool rewrite(const Node& n) {
    const int i = index_of(n);
    if (const auto outputs = outputs_.find(i); outputs != outputs_.end()) {
      const std::string& own = name(n.outputs[0]);
      outputs->second = b_.add(with_extremes(n.workload), now(n.inputs), {own, own + "_least", own + "_most"});
      return replace(n, outputs->second[0]);
    }
    if (!fused_[i]) return false;
    const ValueId v = outputs_.at(fused_[i]->maker)[fused_[i]->is_most ? 2 : 1];
    if (!fused_[i]->behind) return replace(n, v);
    std::vector<ValueId> inputs{v};
    for (size_t o = 1; o < n.inputs.size(); ++o) inputs.push_back(with_shape(now(n.inputs[o]), {1}));
    return replace(n, *fused_[i]->behind, inputs);
  }

 private:
  std::optional<FusedExtreme> fused_of(const Node& n) const {
    if (!is<ops::Reduce>(n)) return std::nullopt;
    const ReduceShape& s = reduce_shape(n.workload);
    const DTypes& t = dtypes_of(n.workload);
    if ((s.op != "min" && s.op != "max") || s.axes.size() != s.shape.size() || t.accumulate != t.in || t.out != t.in)
      return std::nullopt;
    const Node* maker = producer(in_front_of<ops::Reshape, ops::Transpose>(n.inputs[0]));
    if (!maker || !can_tell_extremes(maker->workload) || maker->outputs.size() != 1 || dtype(maker->outputs[0]) != t.in)
      return std::nullopt;
    FusedExtreme out{index_of(*maker), s.op == "max", std::nullopt};
    BoundChain chain = bound_epilogue(n);
    if (chain.chain.empty()) return out;
    std::vector<TensorType> types{{t.in, {1}}};
    chain.change_operands([&](ValueId v, const Operand&) {
      types.push_back({dtype(v), {1}});
      return std::optional<Argument>(Operand{});
    });
    out.behind = elementwise_of(c_.operators, c_.functions, chain.chain, types);
    if (!out.behind || inferred(*out.behind).outputs[0].dtype != dtype(n.outputs[0])) return std::nullopt;
    return out;
  }

  IdVector<std::optional<FusedExtreme>> fused_;  ///< by node
  std::map<int, std::vector<ValueId>> outputs_;  ///< by maker; as far as they were added
};

}  // namespace

Graph fuse_extremes(const Graph& g, const PassContext& context) { return rewritten_by<ExtremeFuser>(g, context); }

}  // namespace hone
