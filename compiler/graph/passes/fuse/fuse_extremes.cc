#include <map>
#include <optional>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/by_row/reduce.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
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

class ExtremeFuser {
 public:
  ExtremeFuser(const Graph& g, const PassContext& context) : c_(context), fused_(g.nodes.size()), r_(g, context) {
    for (size_t i = 0; i < g.nodes.size(); ++i) fused_[i] = fused_of(g.nodes[i]);
    for (const auto& f : fused_)
      if (f) outputs_[f->maker];
  }

  Graph run() {
    return r_.run([&](const Node& n) { return add(n); });
  }

 private:
  // The node that makes `v`, which may have been moved since; -1: the caller gives it, or it is a constant.
  int maker_of(ValueId v) const {
    for (;;) {
      const int i = r_.uses().producer[v];
      if (i < 0) return i;
      const Node& n = r_.node(i);
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
    const Node& maker = r_.node(i);
    if (!can_tell_extremes(maker.workload) || maker.outputs.size() != 1 || r_.type(maker.outputs[0]).dtype != t.in)
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
      for (const ValueId v : l.operands) types.push_back({r_.type(v).dtype, {1}});
    }
    out.behind = elementwise_of(c_.operators, c_.functions, chain, types);
    if (!out.behind || inferred(*out.behind).outputs[0].dtype != r_.type(n.outputs[0]).dtype) return std::nullopt;
    return out;
  }

  bool add(const Node& n) {
    const auto i = r_.index_of(n);
    if (const auto outputs = outputs_.find(static_cast<int>(i)); outputs != outputs_.end())
      return add_maker(n, &outputs->second);
    return fused_[i] && add_extreme(n, *fused_[i]);
  }

  bool add_maker(const Node& n, std::vector<ValueId>* outputs) {
    std::vector<ValueId> inputs;
    for (const ValueId v : n.inputs) inputs.push_back(r_.now(v));
    const std::string& name = r_.name(n.outputs[0]);
    *outputs = r_.builder().add(with_extremes(n.workload), inputs, {name, name + "_least", name + "_most"});
    r_.stand_in(n.outputs[0], (*outputs)[0]);
    return true;
  }

  bool add_extreme(const Node& n, const FusedExtreme& fused) {
    ValueId v = outputs_.at(fused.maker)[fused.is_most ? 2 : 1];
    const Value& old = r_.graph().value(n.outputs[0]);
    if (fused.behind) {
      std::vector<ValueId> inputs{v};
      for (size_t i = 1; i < n.inputs.size(); ++i) inputs.push_back(r_.with_shape(r_.now(n.inputs[i]), {1}));
      v = r_.builder().add(*fused.behind, inputs, {old.name})[0];
    }
    r_.stand_in(n.outputs[0], r_.with_shape(v, old.type.shape));
    return true;
  }

  const PassContext& c_;
  std::vector<std::optional<FusedExtreme>> fused_;  ///< by node
  std::map<int, std::vector<ValueId>> outputs_;     ///< by maker; as far as they were added
  Rewriter r_;
};

}  // namespace

Graph fuse_extremes(const Graph& g, const PassContext& context) { return ExtremeFuser(g, context).run(); }

}  // namespace hone
