#include <map>
#include <optional>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rebuild.h"
#include "compiler/ops/by_row/reduce.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

// A reduction that becomes an output of the node that makes what it reads, and the functions behind it.
struct FusedExtreme {
  int maker;
  bool is_most;
  std::optional<Workload> behind;  ///< elementwise, of one element; nothing: there are none
};

class ExtremeFuser {
 public:
  ExtremeFuser(const Graph& g, const PassContext& context)
      : g_(g), c_(context), producer_(uses_of(g).producer), fused_(g.nodes.size()), rebuild_(g, context) {
    for (size_t i = 0; i < g.nodes.size(); ++i) fused_[i] = fused_of(g.nodes[i]);
    for (const auto& f : fused_)
      if (f) outputs_[f->maker];
  }

  Graph run() {
    return rebuild_.run([&](const Node& n) { return add(n); });
  }

 private:
  // The node that makes `v`, which may have been moved since; -1: the caller gives it, or it is a constant.
  int maker_of(ValueId v) const {
    for (;;) {
      const int i = producer_[v];
      if (i < 0) return i;
      const Node& n = g_.nodes[i];
      if (!is<ops::Reshape, ops::Transpose>(n)) return i;
      v = n.inputs[0];
    }
  }

  std::optional<FusedExtreme> fused_of(const Node& n) const {
    if (!is<ops::Reduce>(n)) return std::nullopt;
    const ReduceShape& s = reduce_shape(n.workload);
    const DTypes& t = dtypes_of(n.workload);
    if ((s.op != "min" && s.op != "max") || s.axes.size() != s.shape.size() || t.accumulate != t.in || t.out != t.in)
      return std::nullopt;
    const int i = maker_of(n.inputs[0]);
    if (i < 0) return std::nullopt;
    const Node& maker = g_.nodes[i];
    if (!can_tell_extremes(maker.workload) || maker.outputs.size() != 1 ||
        g_.value(maker.outputs[0]).type.dtype != t.in)
      return std::nullopt;
    FusedExtreme out{i, s.op == "max", std::nullopt};
    const std::vector<BoundLink> links = bound_links(n);
    if (links.empty()) return out;
    Chain chain;
    std::vector<TensorType> types{{t.in, {1}}};
    for (const BoundLink& l : links) {
      chain.links.push_back(l.link);
      for (Argument& a : chain.links.back().arguments)
        if (std::holds_alternative<Operand>(a)) a = Operand{};
      for (const ValueId v : l.operands) types.push_back({g_.value(v).type.dtype, {1}});
    }
    out.behind = elementwise_of(c_.operators, c_.functions, chain, types);
    if (!out.behind || inferred(*out.behind).outputs[0].dtype != g_.value(n.outputs[0]).type.dtype) return std::nullopt;
    return out;
  }

  bool add(const Node& n) {
    const auto i = static_cast<size_t>(&n - g_.nodes.data());
    if (const auto outputs = outputs_.find(static_cast<int>(i)); outputs != outputs_.end())
      return add_maker(n, &outputs->second);
    return fused_[i] && add_extreme(n, *fused_[i]);
  }

  bool add_maker(const Node& n, std::vector<ValueId>* outputs) {
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) inputs.push_back(rebuild_.now(v));
    const std::string& name = g_.value(n.outputs[0]).name;
    *outputs = rebuild_.builder().add(with_extremes(n.workload), inputs, {name, name + "_least", name + "_most"});
    rebuild_.stand_in(n.outputs[0], (*outputs)[0]);
    return true;
  }

  bool add_extreme(const Node& n, const FusedExtreme& fused) {
    ValueId v = outputs_.at(fused.maker)[fused.is_most ? 2 : 1];
    const Value& old = g_.value(n.outputs[0]);
    if (fused.behind) {
      std::vector<ValueId> inputs{v};
      for (size_t i = 1; i < n.inputs.size(); ++i)
        inputs.push_back(rebuild_.with_shape(rebuild_.now(n.inputs[i]), {1}));
      v = rebuild_.builder().add(*fused.behind, inputs, {old.name})[0];
    }
    rebuild_.stand_in(n.outputs[0], rebuild_.with_shape(v, old.type.shape));
    return true;
  }

  const Graph& g_;
  const PassContext& c_;
  const IdVector<int> producer_;
  std::vector<std::optional<FusedExtreme>> fused_;  ///< by node
  std::map<int, std::vector<ValueId>> outputs_;     ///< by maker; as far as they were added
  Rebuild rebuild_;
};

}  // namespace

Graph fuse_extremes(const Graph& g, const PassContext& context) { return ExtremeFuser(g, context).run(); }

}  // namespace hone
