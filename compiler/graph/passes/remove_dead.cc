#include <algorithm>

#include "compiler/graph/passes/passes.h"

namespace hone {

Graph remove_dead(const Graph& g) {
  IdVector<bool> is_used(g.values.size(), false);
  const auto use = [&](const std::vector<Port>& ports) {
    for (const Port& p : ports)
      if (p.value != kNoValue) is_used[p.value] = true;
  };
  use(g.outputs);
  Graph out{g.name, {}, g.inputs, g.outputs, {}};
  for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
    if (std::none_of(n->outputs.begin(), n->outputs.end(), [&](ValueId v) { return is_used[v]; })) continue;
    out.nodes.push_back(*n);
    for (const auto* values : {&n->inputs, &n->outputs})  // one of several outputs may have no reader
      for (const ValueId v : *values) is_used[v] = true;
  }
  std::reverse(out.nodes.begin(), out.nodes.end());
  use(g.inputs);

  IdVector<ValueId> now(g.values.size(), kNoValue);
  for (size_t v = 0; v < g.values.size(); ++v) {
    if (!is_used[v]) continue;
    now[v] = static_cast<ValueId>(out.values.size());
    out.values.push_back(g.values[v]);
  }
  for (Node& n : out.nodes)
    for (auto* values : {&n.inputs, &n.outputs})
      for (ValueId& v : *values) v = now[v];
  for (std::vector<Port>* ports : {&out.inputs, &out.outputs})
    for (Port& p : *ports)
      if (p.value != kNoValue) p.value = now[p.value];
  return out;
}

}  // namespace hone
