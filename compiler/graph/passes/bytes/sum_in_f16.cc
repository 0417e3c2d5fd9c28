#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {

Graph sum_in_f16(const Graph& g, const PassContext& context) {
  Rewriter r(g, context);
  return r.run([&](const Node& n) {
    r.become_if_allowed(n, n.inputs, [&] { return with_sums_in_f16(n.workload); });
    return false;
  });
}

}  // namespace hone
