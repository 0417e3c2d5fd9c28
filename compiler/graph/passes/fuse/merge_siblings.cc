#include <map>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rebuild.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// The attribute that counts output channels; null where the operator's outputs do not follow each other in memory:
// convolutions of one image, products of one row.
const char* channels_of(const Node& n) {
  const Attributes& a = n.workload.attributes;
  if (is<ops::Conv2d>(n)) return a.number("n") == 1 && conv_shape(n.workload).groups == 1 ? "co" : nullptr;
  return is<ops::Dense>(n) && a.number("m") == 1 ? "n" : nullptr;
}

class SiblingMerger {
 public:
  SiblingMerger(const Graph& g, const PassContext& context)
      : g_(g), c_(context), uses_(uses_of(g)), rebuild_(g, context) {
    for (size_t n = 0; n < g.nodes.size(); ++n)
      if (may_merge(g.nodes[n])) groups_[key_of(g.nodes[n])].push_back(&g.nodes[n]);
  }

  Graph run() {
    return rebuild_.run([&](const Node& n) {
      if (!may_merge(n)) return false;
      const auto& siblings = groups_.at(key_of(n));
      if (siblings.size() < 2) return false;
      if (&n == siblings[0]) add_merged(siblings);
      return true;
    });
  }

 private:
  // Weights and operands of channels that are known, whole blocks of channels, and no reader for whose sake each
  // output should lie elsewhere: a concatenation's parts are written in place.
  bool may_merge(const Node& n) const {
    const char* channels = channels_of(n);
    if (!channels || !has_folding_weights(g_, n)) return false;
    if (n.workload.attributes.number(channels) % std::max<int64_t>(1, c_.lanes) != 0) return false;
    for (const BoundLink& l : bound_links(n)) {
      size_t operand = 0;
      for (const Argument& a : l.link.arguments)
        if (const auto* o = std::get_if<Operand>(&a))
          if (o->kind != Operand::Kind::kChannel || !g_.is_constant(l.operands[operand++])) return false;
    }
    return !is_joined(n.outputs[0]);
  }
  bool is_joined(ValueId v) const {
    if (uses_.is_output[v]) return true;
    for (const int r : uses_.readers[v]) {
      const Node& reader = g_.nodes[r];
      if (is<ops::Concat>(reader)) return true;
      if (is<ops::Reshape>(reader) && is_joined(reader.outputs[0])) return true;
    }
    return false;
  }

  // Equal for nodes that differ in nothing but their constants and the number of their channels.
  std::string key_of(const Node& n) const {
    return std::to_string(n.inputs[0]) + " " + to_string(with(n.workload, channels_of(n), "1"));
  }

  void add_merged(const std::vector<const Node*>& siblings) {
    GraphBuilder& b = rebuild_.builder();
    const Node& first = *siblings[0];
    const char* channels = channels_of(first);
    int64_t all = 0;
    std::string origin;
    for (const Node* n : siblings) {
      all += n->workload.attributes.number(channels);
      origin += (origin.empty() ? "" : " + ") + n->origin;
    }
    b.set_origin(origin);
    std::vector<ValueId> inputs{rebuild_.now(first.inputs[0])};
    for (size_t i = 1; i < first.inputs.size(); ++i) inputs.push_back(stacked(siblings, i));
    const ValueId merged = b.add(with(first.workload, channels, std::to_string(all)), inputs)[0];
    const size_t axis = b.type(merged).shape.size() == 4 ? 1 : b.type(merged).shape.size() - 1;
    int64_t begin = 0;
    for (const Node* n : siblings) {
      const Extents& shape = g_.value(n->outputs[0]).type.shape;
      Extents from(shape.size(), 0);
      from[axis] = begin;
      begin += shape[axis];
      rebuild_.stand_in(n->outputs[0], b.slice(merged, from, shape, {}, g_.value(n->outputs[0]).name));
    }
  }

  // Constants number `input` of all siblings behind each other, along their first axis.
  ValueId stacked(const std::vector<const Node*>& siblings, size_t input) {
    std::string bytes;
    TensorType type = g_.value(siblings[0]->inputs[input]).type;
    type.shape[0] = 0;
    for (const Node* n : siblings) {
      const Value& v = g_.value(n->inputs[input]);
      bytes.append(v.constant->bytes().data(), v.constant->bytes().size());
      type.shape[0] += v.type.shape[0];
    }
    return rebuild_.builder().constant(TensorData(type, std::move(bytes)), g_.value(siblings[0]->inputs[input]).name);
  }

  const Graph& g_;
  const PassContext& c_;
  const Uses uses_;
  Rebuild rebuild_;
  std::map<std::string, std::vector<const Node*>> groups_;  ///< by key
};

}  // namespace

Graph merge_siblings(const Graph& g, const PassContext& context) { return SiblingMerger(g, context).run(); }

}  // namespace hone
