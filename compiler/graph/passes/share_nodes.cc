#include <map>
#include <numeric>

#include "compiler/graph/passes/passes.h"

namespace hone {

Graph share_nodes(const Graph& g) {
  Graph out = g;
  IdVector<ValueId> now(g.values.size());
  std::iota(now.begin(), now.end(), ValueId{0});
  std::map<std::pair<std::string, std::vector<ValueId>>, std::vector<ValueId>> known;
  for (Node& n : out.nodes) {
    for (ValueId& v : n.inputs) v = now[v];
    const auto [it, is_new] = known.emplace(std::pair(to_string(n.workload), n.inputs), n.outputs);
    if (is_new) continue;
    for (size_t o = 0; o < n.outputs.size(); ++o) now[n.outputs[o]] = it->second[o];
  }
  for (Port& p : out.outputs)
    if (p.value != kNoValue) p.value = now[p.value];
  return remove_dead(out);
}

}  // namespace hone
