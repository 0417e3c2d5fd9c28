#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rebuild.h"

namespace hone {
namespace {

using Extents = std::vector<int64_t>;

class TransposeSinker {
 public:
  TransposeSinker(const Graph& g, const PassContext& context) : g_(g), uses_(uses_of(g)), rebuild_(g, context) {}

  Graph run() {
    return rebuild_.run([&](const Node& n) { return add_swapped(n); });
  }

 private:
  // The node that computes `v`, where one node reads it, once, and it is no output of the model; else null.
  const Node* only_producer(ValueId v) const {
    const int n = uses_.producer[static_cast<size_t>(v)];
    if (n < 0 || uses_.is_output[static_cast<size_t>(v)] || uses_.readers[static_cast<size_t>(v)].size() != 1)
      return nullptr;
    return &g_.nodes[static_cast<size_t>(n)];
  }

  // Whether an operator with an epilogue computes `v`, perhaps seen under another shape, for one reader only.
  bool is_from_anchor(ValueId v) const {
    const Node* n = only_producer(v);
    if (n && n->workload.task() == "reshape") n = only_producer(n->inputs[0]);
    return n && n->workload.attributes.has("epilogue");
  }

  // Whether elements of `shape` keep their order when its axes are put in this one.
  static bool keeps_order(const Extents& shape, const Extents& order) {
    int64_t last = -1;
    for (const int64_t axis : order) {
      if (shape[static_cast<size_t>(axis)] == 1) continue;
      if (axis < last) return false;
      last = axis;
    }
    return true;
  }

  bool add_swapped(const Node& e) {
    if (e.workload.task() != "elementwise") return false;
    const ValueId moved = e.inputs[0];
    const Node* t = only_producer(moved);
    if (!t || t->workload.task() != "transpose" || !is_from_anchor(t->inputs[0]) ||
        g_.value(moved).type.shape != g_.value(e.outputs[0]).type.shape)
      return false;
    const auto& perm = t->workload.attributes.get<Extents>("perm");
    Extents inverse(perm.size());
    for (size_t d = 0; d < perm.size(); ++d) inverse[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
    for (size_t i = 1; i < e.inputs.size(); ++i)
      if (!g_.is_constant(e.inputs[i]) && !keeps_order(g_.value(e.inputs[i]).type.shape, inverse)) return false;
    std::vector<ValueId> inputs{rebuild_.now(t->inputs[0])};
    const auto text = [](const Extents& order) { return fmt::format("{}", fmt::join(order, ":")); };
    for (size_t i = 1; i < e.inputs.size(); ++i)
      inputs.push_back(rebuild_.builder().add_one("transpose", {{"perm", text(inverse)}}, {rebuild_.now(e.inputs[i])}));
    const ValueId made = rebuild_.builder().add_one("elementwise", {{"op", e.workload.attributes.text("op")}}, inputs);
    rebuild_.stand_in(e.outputs[0], rebuild_.builder().add_one("transpose", {{"perm", text(perm)}}, {made},
                                                               g_.value(e.outputs[0]).name));
    return true;
  }

  const Graph& g_;
  const Uses uses_;
  Rebuild rebuild_;
};

}  // namespace

Graph sink_transposes(const Graph& g, const PassContext& context) { return TransposeSinker(g, context).run(); }

}  // namespace hone
