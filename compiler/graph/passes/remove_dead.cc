#include <algorithm>

#include "compiler/graph/passes/passes.h"

namespace hone {

Graph remove_dead(const Graph& g) {
  IdVector<bool> is_used(g.values.size(), false);
  const auto use = [&](ValueId v) { is_used[v] = true; };
  each_value(g.outputs, use);
  Graph out{g.name, {}, g.inputs, g.outputs, {}};
  for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
    if (std::none_of(n->outputs.begin(), n->outputs.end(), [&](ValueId v) { return is_used[v]; })) continue;
    out.nodes.push_back(*n);
    each_value(*n, use);  // one of several outputs may have no reader
  }
  std::reverse(out.nodes.begin(), out.nodes.end());
  each_value(g.inputs, use);

  IdVector<ValueId> now(g.values.size(), kNoValue);
  for (size_t v = 0; v < g.values.size(); ++v) {
    if (!is_used[v]) continue;
    now[v] = static_cast<ValueId>(out.values.size());
    out.values.push_back(g.values[v]);
  }
  const auto renumber = [&](ValueId& v) { v = now[v]; };
  for (Node& n : out.nodes) each_value(n, renumber);
  each_value(out.inputs, renumber);
  each_value(out.outputs, renumber);
  return out;
}

}  // namespace hone
