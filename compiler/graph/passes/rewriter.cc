#include "compiler/graph/passes/rewriter.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/ops/windows/physical.h"

namespace hone {

Rewriter::Rewriter(const Graph& g, const PassContext& context)
    : g_(g),
      uses_(uses_of(g)),
      c_(context),
      b_(context.operators, g.name),
      is_edited_(g.nodes.size()),
      now_(g.values.size()) {}

std::vector<TensorType> Rewriter::types(const std::vector<ValueId>& values) const {
  std::vector<TensorType> out;
  for (const ValueId v : values) out.push_back(type(v));
  return out;
}

std::vector<const Node*> Rewriter::readers(ValueId v) const {
  std::vector<const Node*> out;
  for (const int n : uses_.readers[v]) out.push_back(&g_.nodes[n]);
  return out;
}

bool Rewriter::is_only_read_by(ValueId v, const Node& n) const {
  const std::vector<int>& readers = uses_.readers[v];
  const int only = index_of(n);
  return !uses_.is_output[v] && std::all_of(readers.begin(), readers.end(), [&](int r) { return r == only; });
}

void Rewriter::become(const Node& n, const Workload& w, std::vector<ValueId> inputs, const Node* behind) {
  const int i = index_of(n);
  HONE_ICHECK(static_cast<size_t>(i) >= at_) << "node '" << n.origin << "' has been added already";
  Node& own = g_.nodes[i];
  is_edited_[static_cast<size_t>(i)] = true;
  drop(n);
  for (const ValueId v : inputs) uses_.readers[v].push_back(i);
  own.workload = w;
  own.inputs = std::move(inputs);
  if (behind && !behind->origin.empty() && behind->origin != own.origin)
    own.origin = own.origin.empty() ? behind->origin : behind->origin + " + " + own.origin;
  b_.set_origin(g_.nodes[at_].origin);
}

bool Rewriter::become_with(const Node& n, const std::vector<BoundLink>& links) {
  auto other = with_links(n, links, shape(n.outputs[0]), c_.functions);
  if (other) become(n, other->workload, std::move(other->inputs));
  return other.has_value();
}

void Rewriter::drop(const Node& n) {
  for (const ValueId v : n.inputs) std::erase(uses_.readers[v], index_of(n));
}

ValueId Rewriter::constant(TensorData data, ValueId of, const std::string& suffix) {
  const TensorType type = data.type();
  g_.values.push_back({name(of) + suffix, type, std::move(data)});
  uses_.producer.push_back(-1);
  uses_.readers.emplace_back();
  uses_.is_output.push_back(false);
  now_.emplace_back();
  return static_cast<ValueId>(g_.values.size()) - 1;
}

void Rewriter::begin() {
  for (const Port& p : g_.inputs) {
    const ValueId v = b_.input(p.name, p.type);
    if (p.value != kNoValue) stand_in(p.value, with_shape(v, shape(p.value)));
  }
}

void Rewriter::copy(const Node& n) {
  std::vector<ValueId> inputs = now(n.inputs);
  std::vector<std::string> names;
  for (const ValueId v : n.outputs) names.push_back(name(v));
  if (!is_edited_[at_]) {
    std::vector<TensorType> types;
    for (const ValueId v : n.outputs) types.push_back(type(v));
    const std::vector<ValueId> made = b_.copy(n.workload, inputs, names, types);
    for (size_t o = 0; o < made.size(); ++o) stand_in(n.outputs[o], made[o]);
    return;
  }
  const PhysicalTypes types = physical_types(n.workload);
  const auto seen = [&](ValueId made, const std::vector<int64_t>& as, const std::string& called) {
    if (b_.type(made).shape == as) return made;
    b_.set_origin("");
    const ValueId view = b_.reshape(made, as, called);
    b_.set_origin(n.origin);
    return view;
  };
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = seen(inputs[i], types.inputs[i].type.shape, name(n.inputs[i]));
  // The name is that of the value, not of the operator's result.
  std::vector<std::string> own = names;
  for (size_t o = 0; o < own.size(); ++o)
    if (types.outputs[o].type.shape != shape(n.outputs[o])) own[o].clear();
  const std::vector<ValueId> made = b_.add(n.workload, inputs, own);
  for (size_t o = 0; o < made.size(); ++o) stand_in(n.outputs[o], seen(made[o], shape(n.outputs[o]), names[o]));
}

Graph Rewriter::end() {
  for (const Port& p : g_.outputs) b_.output(p.name, p.value == kNoValue ? kNoValue : now(p.value), p.type, p.extent);
  return remove_dead(b_.take());
}

ValueId Rewriter::now(ValueId v) {
  auto& known = now_[v];
  if (!known) known = b_.keep(*g_.value(v).constant, name(v));
  return *known;
}

std::vector<ValueId> Rewriter::now(const std::vector<ValueId>& values) {
  std::vector<ValueId> out;
  for (const ValueId v : values) out.push_back(now(v));
  return out;
}

bool Rewriter::replace(const Node& n, ValueId made) {
  stand_in(n.outputs[0], with_shape(made, shape(n.outputs[0])));
  return true;
}

bool Rewriter::replace(const Node& n, const Workload& w, const std::vector<ValueId>& inputs) {
  return replace(n, b_.add(w, inputs, {name(n.outputs[0])})[0]);
}

std::vector<TensorType> Rewriter::made_types(const std::vector<ValueId>& made) const {
  std::vector<TensorType> out;
  for (const ValueId v : made) out.push_back(b_.type(v));
  return out;
}

}  // namespace hone
