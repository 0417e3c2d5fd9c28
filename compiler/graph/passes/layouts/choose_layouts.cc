#include "compiler/graph/passes/layouts/decide_layouts.h"
#include "compiler/graph/passes/passes.h"

namespace hone {
namespace {

// Whether the nodes that were compared are the nodes that were made.
bool is_as_decided(const DecidedLayouts& decided, const IdVector<std::optional<BlockedNode>>& by_rule,
                   const IdVector<std::optional<BlockedNode>>& made) {
  for (size_t n = 0; n < made.size(); ++n) {
    const bool is_blocked = decided.forms[n] != LayoutForm::kPlanes;
    if (made[n].has_value() != is_blocked) return false;
    if (is_blocked && !(made[n]->workload ==
                        (decided.forms[n] == LayoutForm::kRule ? by_rule[n]->workload : *by_rule[n]->from_planes)))
      return false;
  }
  return true;
}

}  // namespace

Graph choose_layouts(const Graph& g, const PassContext& context) {
  RewrittenLayouts by_rule = rewrite_layouts(g, context);
  if (!context.measured && !context.alternatives) return std::move(by_rule.graph);
  const DecidedLayouts decided = decide_layouts(g, context, by_rule.blocked);
  if (decided.is_rule) return std::move(by_rule.graph);
  RewrittenLayouts made = rewrite_layouts(g, context, decided.forms);
  // Where the rule filled up an image of one pixel for a node that is in planes now, the next one that reads it finds
  // no channels of padding, and another workload comes out than was compared.
  if (!is_as_decided(decided, by_rule.blocked, made.blocked)) return std::move(by_rule.graph);
  if (context.notes)
    for (size_t n = 0; n < g.nodes.size(); ++n)
      if (!decided.why[n].empty()) context.notes->say_layout(g.nodes[n].origin, decided.why[n]);
  return std::move(made.graph);
}

}  // namespace hone
