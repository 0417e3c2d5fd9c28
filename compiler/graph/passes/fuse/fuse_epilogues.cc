#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/physical.h"

namespace hone {
namespace {

class EpilogueFuser : public Rewriter {
 public:
  using Rewriter::Rewriter;

  // One walk is enough: a node that takes others in stands where the last of them stood, in front of all that read it.
  bool rewrite(const Node& n) {
    if (is<ops::Elementwise>(n)) join_inputs(n);
    return false;
  }

 private:
  // Tries the operand that is computed last first: when it absorbs the node, the others become epilogue operands.
  void join_inputs(const Node& n) {
    std::vector<ValueId> inputs = n.inputs;
    const auto when = [&](ValueId v) { return uses().producer[v]; };
    std::sort(inputs.begin(), inputs.end(), [&](ValueId a, ValueId b) { return when(a) > when(b); });
    std::string why;
    for (const ValueId v : inputs) {
      const std::string own = join(v, n);
      if (own.empty()) return;
      // The reported reason is that of the main value, which has the output's shape, not of other operands.
      if (why.empty() || shape(v) == shape(n.outputs[0])) why = own;
    }
    if (c_.notes) c_.notes->say(n.origin, why);
  }

  std::string why_others_need(ValueId v) const {
    return is_output(v) ? fmt::format("%{} is an output of the model", name(v))
                        : fmt::format("others read %{}, too", name(v));
  }

  // Joins elementwise node `n` to the operator that computes `v`, perhaps through a view. Empty, or why not.
  std::string join(ValueId v, const Node& n) {
    const Node *a = nullptr, *view = nullptr, *reader = &n;
    ValueId made = v;
    for (;;) {
      a = producer(made);
      if (!a) return fmt::format("no operator computes %{}", name(made));
      if (!is_only_read_by(made, *reader)) return why_others_need(made);
      if (view || !is<ops::Reshape>(*a)) break;
      view = reader = a;
      made = a->inputs[0];
    }
    const bool is_seen_twice = view && shape(made) != shape_of(*a);
    if (!a->workload.attributes.has("epilogue") || a->outputs.size() != 1 || is_seen_twice)
      return fmt::format("{}, which computes %{}, takes no epilogue", a->workload.operator_name(), name(made));
    // In blocks, operands would have to be, too.
    if (a->workload.attributes.has("layout") && layout_of(a->workload).in_block > 0)
      return fmt::format("%{} lies in blocks of channels", name(made));
    // Constants of the channels are the operator's own kind of operand, where it has one.
    std::string why =
        fmt::format("its operands do not fit the {} that computes %{}", a->workload.operator_name(), name(made));
    for (const bool by_channel : {true, false})
      if (const auto chain = chain_from(n, v, *a, by_channel)) {
        if (take_in(*a, n, v, *chain)) {
          if (view) drop(*view);
          drop(*a);
          return "";
        }
        why = fmt::format("the {} that computes %{} does not take the longer epilogue", a->workload.operator_name(),
                          name(made));
      }
    return why;
  }

  // The shape that an operator computes, which its value may be seen under another one than.
  static Extents shape_of(const Node& a) { return physical_types(a.workload).outputs[0].type.shape; }

  // The elementwise node as a chain on the anchor's value, its operands as epilogues have them.
  std::optional<BoundChain> chain_from(const Node& e, ValueId v, const Node& a, bool by_channel) {
    const ElementwiseShape& s = elementwise_shape(e.workload);
    auto out = shape(v) == s.shape ? chain_on(e, v, c_.functions) : std::nullopt;
    const auto as_epilogue = [&](ValueId id, const Operand& o) {
      if (id == v) return std::optional<Argument>(o);  // becomes a label
      return operand_for(id, s.shape, shape_of(a), by_channel);
    };
    return out && out->change_operands(as_epilogue) ? out : std::nullopt;
  }

  // How value `id`, an operand for elements of `shape`, is an operand for those of `value`, the same under another
  // shape.
  std::optional<Argument> operand_for(ValueId id, const Extents& whole, const Extents& value, bool by_channel) const {
    const Extents& own = shape(id);
    const SeenOperand seen = seen_with(own, whole, value);
    const bool is_there = seen.whole == own;
    if (by_channel && is_there && is_constant(id) && seen.shape[channel_axis(value)] == element_count(own) &&
        value[channel_axis(value)] == element_count(own))
      return Operand{Operand::Kind::kChannel, {}};
    if (own == whole) return Operand{Operand::Kind::kSame, {}};
    if (has_one_element(id)) return Operand{Operand::Kind::kOne, {}};
    return is_there ? std::optional<Argument>(Operand{Operand::Kind::kShape, seen.shape}) : std::nullopt;
  }

  // The elementwise node does the anchor's work, too; views carry values to nodes that need other shapes.
  bool take_in(const Node& a, const Node& e, ValueId v, const BoundChain& second) {
    const BoundChain own = bound_epilogue(a), chain = joined(own, second, v, kNoValue);
    std::vector<ValueId> inputs(a.inputs.begin(), a.inputs.end() - static_cast<std::ptrdiff_t>(own.operands.size()));
    const size_t first = inputs.size();
    inputs.insert(inputs.end(), chain.operands.begin(), chain.operands.end());
    const auto is_as_wanted = [](const TensorType& wanted, const TensorType& have) {
      return wanted.dtype == have.dtype && element_count(wanted.shape) == element_count(have.shape);
    };
    const auto with_both = [&]() -> std::optional<Workload> {
      // Channels are constants there.
      const Workload w = with_epilogue(a.workload, chain.chain, shape_of(a), c_.functions);
      if (epilogue_of(w).chain.empty()) return std::nullopt;
      const Inferred types = inferred(w);
      for (size_t i = first; i < inputs.size(); ++i)
        if (!is_as_wanted(types.inputs[i], type(inputs[i]))) return std::nullopt;
      return is_as_wanted(types.outputs[0], type(e.outputs[0])) ? std::optional(w) : std::nullopt;
    };
    return become_if_allowed(e, inputs, with_both, &a);
  }
};

}  // namespace

Graph fuse_epilogues(const Graph& g, const PassContext& context) { return rewritten_by<EpilogueFuser>(g, context); }

}  // namespace hone
