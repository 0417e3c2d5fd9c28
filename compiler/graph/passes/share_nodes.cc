#include <map>
#include <numeric>

#include "compiler/graph/passes/passes.h"

namespace hone {

Graph share_nodes(const Graph& g) {
  Graph out = g;
  std::vector<ValueId> now(g.values.size());
  std::iota(now.begin(), now.end(), ValueId{0});
  std::map<std::pair<std::string, std::vector<ValueId>>, std::vector<ValueId>> known;
  for (Node& n : out.nodes) {
    for (ValueId& v : n.inputs) v = now[static_cast<size_t>(v)];
    const auto [it, is_new] = known.emplace(std::pair(to_string(n.workload), n.inputs), n.outputs);
    if (is_new) continue;
    for (size_t o = 0; o < n.outputs.size(); ++o) now[static_cast<size_t>(n.outputs[o])] = it->second[o];
  }
  for (Port& p : out.outputs)
    if (p.value != kNoValue) p.value = now[static_cast<size_t>(p.value)];
  return remove_dead(out);
}

}  // namespace hone
