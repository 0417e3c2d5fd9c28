#include <string>

#include "compiler/graph/passes/passes.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/workload.h"

namespace hone {

Graph sum_in_f16(const Graph& g) {
  const std::string wide = "f16:f16:f32:", narrow = "f16:f16:f16:";
  Graph out = g;
  for (Node& n : out.nodes) {
    if (!n.workload.attributes.has("dtype")) continue;
    const std::string dtype(n.workload.attributes.text("dtype"));
    if (!dtype.starts_with(wide)) continue;
    n.workload = with(n.workload, "dtype", narrow + dtype.substr(wide.size()));
  }
  return out;
}

}  // namespace hone
