#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/physical.h"

namespace hone {
namespace {

// The axes with more than one element.
std::vector<size_t> long_axes(const Extents& shape) {
  std::vector<size_t> out;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1) out.push_back(d);
  return out;
}

// An operand `own`, broadcast to `shape`, as one that is broadcast to `value`, the same elements under another shape:
// where these differ in axes of one element alone, or the operand is a row of both.
std::optional<Extents> under_shape(const Extents& own, const Extents& shape, const Extents& value) {
  if (shape == value) return own;
  Extents out(value.size(), 1);
  const std::vector<size_t> from = long_axes(shape), to = long_axes(value);
  const bool is_same = std::equal(from.begin(), from.end(), to.begin(), to.end(),
                                  [&](size_t a, size_t b) { return shape[a] == value[b]; });
  if (is_same) {
    for (size_t i = 0; i < from.size(); ++i) out[to[i]] = own[from[i]];
    return out;
  }
  if (own.back() != element_count(own) || shape.back() != own.back() || value.back() != own.back()) return std::nullopt;
  out.back() = own.back();
  return out;
}

class EpilogueFuser {
 public:
  EpilogueFuser(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  // One walk is enough: a node that takes others in stands where the last of them stood, in front of all that read it.
  Graph run() {
    return r_.run([&](const Node& n) {
      if (is<ops::Elementwise>(n)) join_inputs(n);
      return false;
    });
  }

 private:
  // Tries the operand that is computed last first: when it absorbs the node, the others become epilogue operands.
  void join_inputs(const Node& n) {
    std::vector<ValueId> inputs = n.inputs;
    const auto when = [&](ValueId v) { return r_.uses().producer[v]; };
    std::sort(inputs.begin(), inputs.end(), [&](ValueId a, ValueId b) { return when(a) > when(b); });
    std::string why;
    for (const ValueId v : inputs) {
      const std::string own = join(v, n);
      if (own.empty()) return;
      // The reported reason is that of the main value, which has the output's shape, not of other operands.
      if (why.empty() || r_.shape(v) == r_.shape(n.outputs[0])) why = own;
    }
    if (c_.notes) c_.notes->say(n.origin, why);
  }

  std::string why_others_need(ValueId v) const {
    return r_.uses().is_output[v] ? fmt::format("%{} is an output of the model", r_.name(v))
                                  : fmt::format("others read %{}, too", r_.name(v));
  }

  // Joins elementwise node `n` to the operator that computes `v`, perhaps through a view. Empty, or why not.
  std::string join(ValueId v, const Node& n) {
    const Node* a = r_.producer(v);
    if (!a) return fmt::format("no operator computes %{}", r_.name(v));
    if (!r_.is_only_read_by(v, n)) return why_others_need(v);
    const Node* view = is<ops::Reshape>(*a) ? a : nullptr;
    const ValueId made = view ? view->inputs[0] : v;
    if (view) {
      a = r_.producer(made);
      if (!a) return fmt::format("no operator computes %{}", r_.name(made));
      if (!r_.is_only_read_by(made, *view)) return why_others_need(made);
    }
    const bool is_seen_twice = view && r_.shape(made) != shape_of(*a);
    if (!a->workload.attributes.has("epilogue") || a->outputs.size() != 1 || is_seen_twice)
      return fmt::format("{}, which computes %{}, takes no epilogue", a->workload.operator_name(), r_.name(made));
    // In blocks, operands would have to be, too.
    if (a->workload.attributes.has("layout") && layout_of(a->workload).in_block > 0)
      return fmt::format("%{} lies in blocks of channels", r_.name(made));
    // Constants of the channels are the operator's own kind of operand, where it has one.
    std::string why =
        fmt::format("its operands do not fit the {} that computes %{}", a->workload.operator_name(), r_.name(made));
    for (const bool by_channel : {true, false})
      if (const auto chain = chain_from(n, v, *a, by_channel)) {
        if (become(*a, n, v, *chain)) {
          if (view) r_.drop(*view);
          r_.drop(*a);
          return "";
        }
        why = fmt::format("the {} that computes %{} does not take the longer epilogue", a->workload.operator_name(),
                          r_.name(made));
      }
    return why;
  }

  // The shape that an operator computes, which its value may be seen under another one than.
  static Extents shape_of(const Node& a) { return physical_types(a.workload).outputs[0].type.shape; }

  // The elementwise node as a chain on the anchor's value, its operands as epilogues have them.
  std::optional<BoundChain> chain_from(const Node& e, ValueId v, const Node& a, bool by_channel) {
    const ElementwiseShape& s = elementwise_shape(e.workload);
    if (r_.shape(v) != s.shape) return std::nullopt;
    BoundChain out = bound_chain(e);
    if (e.inputs[0] != v) {
      // x - conv is conv.rsub(x)
      if (e.inputs.size() < 2 || e.inputs[1] != v) return std::nullopt;
      auto other = exchanged_chain(std::move(out), e.inputs[0], c_.functions);
      if (!other) return std::nullopt;
      out = std::move(*other);
    }
    const Extents value = shape_of(a);
    auto operand = out.operands.begin();
    for (ChainLink& link : out.chain.links)
      for (Argument& argument : link.arguments)
        if (std::holds_alternative<Operand>(argument)) {
          const ValueId id = *operand++;
          if (id == v) continue;  // becomes a label
          const auto of = operand_for(id, s.shape, value, by_channel);
          if (!of) return std::nullopt;
          argument = *of;
        }
    return out;
  }

  // How value `id`, an operand for elements of `shape`, is an operand for those of `value`, the same under another
  // shape.
  std::optional<Operand> operand_for(ValueId id, const Extents& shape, const Extents& value, bool by_channel) const {
    const Extents& own = r_.shape(id);
    const size_t axis = value.size() == 4 ? 1 : value.size() - 1;
    const auto there = under_shape(own, shape, value);
    if (by_channel && there && r_.is_constant(id) && (*there)[axis] == element_count(own) &&
        value[axis] == element_count(own))
      return Operand{Operand::Kind::kChannel, {}};
    if (own == shape) return Operand{Operand::Kind::kSame, {}};
    if (element_count(own) == 1) return Operand{Operand::Kind::kOne, {}};
    if (there) return Operand{Operand::Kind::kShape, *there};
    return std::nullopt;
  }

  // The elementwise node does the anchor's work, too; views carry values to nodes that need other shapes.
  bool become(const Node& a, const Node& e, ValueId v, const BoundChain& second) {
    const Extents value = shape_of(a);
    size_t own = 0;
    Chain first;
    std::vector<ValueId> operands;
    for (const BoundLink& l : bound_links(a)) {
      first.links.push_back(l.link);
      operands.insert(operands.end(), l.operands.begin(), l.operands.end());
      own += l.operands.size();
    }
    const BoundChain chain = joined({first, operands}, second, v, kNoValue);
    try {
      // Channels are constants there.
      const Workload w = with_epilogue(a.workload, chain.chain, value, c_.functions);
      if (epilogue_of(w).chain.empty()) return false;
      const Inferred types = inferred(w);
      // The values as the operator takes them.
      std::vector<ValueId> inputs(a.inputs.begin(), a.inputs.end() - static_cast<std::ptrdiff_t>(own));
      for (const ValueId operand : chain.operands) {
        const TensorType &wanted = types.inputs[inputs.size()], &have = r_.type(operand);
        if (wanted.dtype != have.dtype || element_count(wanted.shape) != element_count(have.shape)) return false;
        inputs.push_back(operand);
      }
      const TensorType &result = types.outputs[0], &wanted = r_.type(e.outputs[0]);
      if (element_count(result.shape) != element_count(wanted.shape) || result.dtype != wanted.dtype) return false;
      r_.become(e, w, std::move(inputs), &a);
    } catch (const UserError&) {
      return false;
    }
    return true;
  }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph fuse_epilogues(const Graph& g, const PassContext& context) { return EpilogueFuser(g, context).run(); }

}  // namespace hone
