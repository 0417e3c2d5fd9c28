#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {

Graph sum_in_f16(const Graph& g, const PassContext& context) {
  Rewriter r(g, context);
  return r.run([&](const Node& n) {
    if (const auto narrow = with_sums_in_f16(n.workload)) r.become(n, *narrow, n.inputs);
    return false;
  });
}

}  // namespace hone
