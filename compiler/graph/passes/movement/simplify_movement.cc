#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "compiler/graph/passes/passes.h"
#include "compiler/ir/extents.h"

namespace hone {
namespace {

// The order of the axes that have more than one element.
Extents moved_axes(const Extents& shape, const Extents& perm) {
  Extents out;
  for (const int64_t d : perm)
    if (shape[static_cast<size_t>(d)] != 1) out.push_back(d);
  return out;
}

bool moves_nothing(const Extents& shape, const Extents& perm) {
  const Extents order = moved_axes(shape, perm);
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i] < order[i - 1]) return false;
  return true;
}

class MovementSimplifier {
 public:
  MovementSimplifier(const Graph& g, const PassContext& context) : g_(g), c_(context), producer_(uses_of(g).producer) {}

  Graph run() {
    for (Node& n : g_.nodes) {
      if (is<ops::Transpose>(n)) simplify_transpose(&n);
      if (is<ops::Reshape>(n)) simplify_reshape(&n);
    }
    for (Node& n : g_.nodes)
      for (ValueId& v : n.inputs) v = now(v);
    for (Port& p : g_.outputs)
      if (p.value != kNoValue) p.value = now(p.value);
    return remove_dead(g_);
  }

 private:
  const Node* producer(ValueId v, std::string_view task) const {
    const int n = producer_[v];
    if (n < 0 || g_.nodes[n].workload.task() != task) return nullptr;
    return &g_.nodes[n];
  }
  const Extents& shape(ValueId v) const { return g_.value(v).type.shape; }

  void become(Node* n, std::string_view op, const std::string& attribute, const Extents& value, std::string_view joint,
              ValueId input) {
    const TensorType in = g_.value(input).type;
    n->workload =
        infer(c_.operators, op, AttributeTexts{{attribute, fmt::format("{}", fmt::join(value, joint))}}, {&in, 1})
            .workload;
    n->inputs = {input};
  }

  void simplify_transpose(Node* n) {
    Extents perm = n->workload.attributes.get<Extents>("perm");
    ValueId input = n->inputs[0];
    if (const Node* before = producer(input, "transpose")) {
      const Extents& first = before->workload.attributes.get<Extents>("perm");
      for (int64_t& d : perm) d = first[static_cast<size_t>(d)];
      input = before->inputs[0];
      become(n, "transpose", "perm", perm, ":", input);
    }
    if (moves_nothing(shape(input), perm)) become(n, "reshape", "to", shape(n->outputs[0]), "x", input);
  }

  void simplify_reshape(Node* n) {
    ValueId input = n->inputs[0];
    if (const Node* before = producer(input, "reshape")) {
      input = before->inputs[0];
      become(n, "reshape", "to", shape(n->outputs[0]), "x", input);
    }
    if (shape(input) == shape(n->outputs[0])) same_[n->outputs[0]] = input;
  }

  ValueId now(ValueId v) const {
    for (auto it = same_.find(v); it != same_.end(); it = same_.find(v)) v = it->second;
    return v;
  }

  Graph g_;
  const PassContext& c_;
  const IdVector<int> producer_;
  std::map<ValueId, ValueId> same_;
};

}  // namespace

Graph simplify_movement(const Graph& g, const PassContext& context) { return MovementSimplifier(g, context).run(); }

}  // namespace hone
