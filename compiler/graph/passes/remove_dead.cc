#include "compiler/graph/passes/passes.h"

namespace hone {

Graph remove_dead(const Graph& g) {
  IdVector<bool> is_used(g.values.size(), false);
  const auto use = [&](ValueId v) { is_used[v] = true; };
  for (const Port& p : g.outputs)
    if (p.value != kNoValue) use(p.value);
  std::vector<bool> stays(g.nodes.size(), false);
  for (size_t n = g.nodes.size(); n-- > 0;) {
    for (const ValueId v : g.nodes[n].outputs) stays[n] = stays[n] || is_used[v];
    if (!stays[n]) continue;
    for (const ValueId v : g.nodes[n].inputs) use(v);
    for (const ValueId v : g.nodes[n].outputs) use(v);  // one of several may have no reader
  }
  for (const Port& p : g.inputs)
    if (p.value != kNoValue) use(p.value);

  Graph out{g.name, {}, g.inputs, g.outputs, {}};
  IdVector<ValueId> now(g.values.size(), kNoValue);
  for (size_t v = 0; v < g.values.size(); ++v) {
    if (!is_used[v]) continue;
    now[v] = static_cast<ValueId>(out.values.size());
    out.values.push_back(g.values[v]);
  }
  const auto renumber = [&](std::vector<ValueId>* ids) {
    for (ValueId& v : *ids) v = now[v];
  };
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    if (!stays[n]) continue;
    out.nodes.push_back(g.nodes[n]);
    renumber(&out.nodes.back().inputs);
    renumber(&out.nodes.back().outputs);
  }
  for (std::vector<Port>* ports : {&out.inputs, &out.outputs})
    for (Port& p : *ports)
      if (p.value != kNoValue) p.value = now[p.value];
  return out;
}

}  // namespace hone
