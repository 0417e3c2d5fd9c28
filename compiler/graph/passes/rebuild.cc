#include "compiler/graph/passes/rebuild.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hone {

Rebuild::Rebuild(const Graph& g, const PassContext& context)
    : g_(g), b_(context.operators, g.name), now_(g.values.size()) {}

void Rebuild::begin() {
  for (const Port& p : g_.inputs) {
    const ValueId v = b_.input(p.name, p.type);
    if (p.value != kNoValue) stand_in(p.value, with_shape(v, g_.value(p.value).type.shape));
  }
}

void Rebuild::copy(const Node& n) {
  std::vector<ValueId> inputs;
  std::vector<std::string> names;
  for (const ValueId v : n.inputs) inputs.push_back(now(v));
  for (const ValueId v : n.outputs) names.push_back(g_.value(v).name);
  const std::vector<ValueId> made = b_.add(n.workload, inputs, names);
  for (size_t o = 0; o < made.size(); ++o) stand_in(n.outputs[o], made[o]);
}

Graph Rebuild::end() {
  for (const Port& p : g_.outputs) b_.output(p.name, p.value == kNoValue ? kNoValue : now(p.value), p.type, p.extent);
  return remove_dead(b_.take());
}

ValueId Rebuild::now(ValueId v) {
  auto& known = now_[v];
  if (!known) known = b_.constant(*g_.value(v).constant, g_.value(v).name);
  return *known;
}

ValueId Rebuild::with_shape(ValueId v, const std::vector<int64_t>& shape) { return b_.reshape(v, shape); }

}  // namespace hone
