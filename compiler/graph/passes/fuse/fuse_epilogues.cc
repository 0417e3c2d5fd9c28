#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"

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
  EpilogueFuser(const Graph& g, const PassContext& context) : g_(g), c_(context), uses_(uses_of(g)) {
    for (const Value& v : g_.values) names_.insert(v.name);
    for (size_t n = 0; n < g_.nodes.size(); ++n) place_.push_back(static_cast<int>(n));
    is_gone_.resize(g_.nodes.size(), false);
  }

  // One walk is enough: a node that takes others in stands where the last of them stood, in front of all that read it.
  Graph run() {
    const int nodes = static_cast<int>(g_.nodes.size());
    for (int n = 0; n < nodes; ++n)
      if (is<ops::Elementwise>(g_.nodes[n])) join_inputs(n);
    std::vector<int> order;
    for (size_t n = 0; n < g_.nodes.size(); ++n)
      if (!is_gone_[n]) order.push_back(static_cast<int>(n));
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return place(a) < place(b); });
    std::vector<Node> kept;
    for (const int n : order) kept.push_back(std::move(g_.nodes[n]));
    g_.nodes = std::move(kept);
    return remove_dead(g_);
  }

 private:
  // Of several operands, the one that is computed last takes the others in.
  void join_inputs(int n) {
    std::vector<ValueId> inputs = g_.nodes[n].inputs;
    std::sort(inputs.begin(), inputs.end(), [&](ValueId a, ValueId b) { return when(a) > when(b); });
    std::string why;
    for (const ValueId v : inputs) {
      const std::string own = join(v, n);
      if (own.empty()) return;
      // What counts is the value that is computed, not what it is combined with.
      const Node& node = g_.nodes[n];
      if (why.empty() || g_.value(v).type.shape == g_.value(node.outputs[0]).type.shape) why = own;
    }
    if (c_.notes) c_.notes->say(g_.nodes[n].origin, why);
  }

  int producer(ValueId v) const { return uses_.producer[v]; }
  int place(int n) const { return place_[n]; }
  // What is computed later compares greater.
  std::pair<int, int> when(ValueId v) const {
    return producer(v) < 0 ? std::pair(-1, -1) : std::pair(place(producer(v)), producer(v));
  }

  // Nodes that come and go keep `uses_` right; of values that no node computes nobody asks for readers.
  void add(Node node, int at) {
    const int n = static_cast<int>(g_.nodes.size());
    for (const ValueId v : node.inputs)
      if (producer(v) >= 0) uses_.readers[v].push_back(n);
    for (const ValueId v : node.outputs) uses_.producer[v] = n;
    g_.nodes.push_back(std::move(node));
    place_.push_back(at);
    is_gone_.push_back(false);
  }
  void remove(int n) {
    is_gone_[n] = true;
    for (const ValueId v : g_.nodes[n].inputs)
      if (producer(v) >= 0) std::erase(uses_.readers[v], n);
  }
  ValueId add(Value value) {
    g_.values.push_back(std::move(value));
    uses_.producer.push_back(-1);
    uses_.readers.emplace_back();
    uses_.is_output.push_back(false);
    return static_cast<ValueId>(g_.values.size()) - 1;
  }

  // Whether node `n` alone reads `v`, and it is no output.
  bool is_only_read_by(ValueId v, int n) const {
    const auto& readers = uses_.readers[v];
    return !uses_.is_output[v] && std::all_of(readers.begin(), readers.end(), [&](int r) { return r == n; });
  }

  std::string why_others_need(ValueId v) const {
    const std::string& name = g_.value(v).name;
    return uses_.is_output[v] ? fmt::format("%{} is an output of the model", name)
                              : fmt::format("others read %{}, too", name);
  }

  // Joins elementwise node `n` to the operator that computes `v`, perhaps through a view. Empty, or why not.
  std::string join(ValueId v, int n) {
    if (producer(v) < 0) return fmt::format("no operator computes %{}", g_.value(v).name);
    if (!is_only_read_by(v, n)) return why_others_need(v);
    int anchor = producer(v);
    ValueId made = v;
    if (is<ops::Reshape>(g_.nodes[anchor])) {
      made = g_.nodes[anchor].inputs[0];
      if (producer(made) < 0) return fmt::format("no operator computes %{}", g_.value(made).name);
      if (!is_only_read_by(made, anchor)) return why_others_need(made);
      anchor = producer(made);
    }
    const Node& a = g_.nodes[anchor];
    if (!a.workload.attributes.has("epilogue") || a.outputs.size() != 1)
      return fmt::format("{}, which computes %{}, takes no epilogue", a.workload.task(), g_.value(made).name);
    // In blocks, operands would have to be, too.
    if (a.workload.attributes.has("layout") && layout_of(a.workload).in_block > 0)
      return fmt::format("%{} lies in blocks of channels", g_.value(made).name);
    // Constants of the channels are the operator's own kind of operand, where it has one.
    std::string why =
        fmt::format("its operands do not fit the {} that computes %{}", a.workload.task(), g_.value(made).name);
    for (const bool by_channel : {true, false})
      if (const auto chain = chain_from(g_.nodes[n], v, a, by_channel)) {
        if (become(anchor, n, made, v, *chain)) return "";
        why = fmt::format("the {} that computes %{} does not take the longer epilogue", a.workload.task(),
                          g_.value(made).name);
      }
    return why;
  }

  // The elementwise node as a chain on the anchor's value, its operands as epilogues have them.
  std::optional<BoundChain> chain_from(const Node& e, ValueId v, const Node& a, bool by_channel) {
    const ElementwiseShape& s = elementwise_shape(e.workload);
    if (g_.value(v).type.shape != s.shape) return std::nullopt;
    BoundChain out{s.chain, {e.inputs.begin() + 1, e.inputs.end()}};
    if (e.inputs[0] != v) {
      // x - conv is conv.rsub(x)
      ChainLink& first = out.chain.links.front();
      if (!first.function || first.arguments.size() != 1 || !std::holds_alternative<Operand>(first.arguments[0]) ||
          e.inputs.size() < 2 || e.inputs[1] != v || std::count(e.inputs.begin(), e.inputs.end(), v) != 1)
        return std::nullopt;
      first.function = c_.functions.find(exchanged(first.function->name));
      if (!first.function) return std::nullopt;
      out.operands[0] = e.inputs[0];
    }
    const Extents& value = g_.value(a.outputs[0]).type.shape;
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
    const Extents& own = g_.value(id).type.shape;
    const size_t axis = value.size() == 4 ? 1 : value.size() - 1;
    const auto there = under_shape(own, shape, value);
    if (by_channel && there && g_.is_constant(id) && (*there)[axis] == element_count(own) &&
        value[axis] == element_count(own))
      return Operand{Operand::Kind::kChannel, {}};
    if (own == shape) return Operand{Operand::Kind::kSame, {}};
    if (element_count(own) == 1) return Operand{Operand::Kind::kOne, {}};
    if (there) return Operand{Operand::Kind::kShape, *there};
    return std::nullopt;
  }

  bool become(int anchor, int n, ValueId made, ValueId v, const BoundChain& second) {
    Node& e = g_.nodes[n];
    const Node a = g_.nodes[anchor];
    const Epilogue& old = epilogue_of(a.workload);
    size_t old_operands = 0;
    for (const ChainLink& link : old.chain.links)
      for (const Argument& argument : link.arguments) old_operands += std::holds_alternative<Operand>(argument) ? 1 : 0;
    const auto first_operand = a.inputs.end() - static_cast<std::ptrdiff_t>(old_operands);
    const BoundChain chain = joined({old.chain, {first_operand, a.inputs.end()}}, second, v, kNoValue);
    try {
      // Channels are constants there.
      const Workload w = with_epilogue(a.workload, chain.chain, g_.value(a.outputs[0]).type.shape, c_.functions);
      if (epilogue_of(w).chain.empty()) return false;
      const Inferred types = inferred(w);
      // The values as the operator takes them.
      std::vector<ValueId> inputs(a.inputs.begin(), first_operand);
      for (size_t i = 0; i < chain.operands.size(); ++i) {
        const TensorType& wanted = types.inputs[inputs.size()];
        const TensorType& have = g_.value(chain.operands[i]).type;
        if (wanted.dtype != have.dtype || element_count(wanted.shape) != element_count(have.shape)) return false;
        inputs.push_back(chain.operands[i]);
      }
      const TensorType result = types.outputs[0];
      if (element_count(result.shape) != element_count(g_.value(e.outputs[0]).type.shape) ||
          result.dtype != g_.value(e.outputs[0]).type.dtype)
        return false;
      replace(anchor, n, made, v, w, types, inputs);
    } catch (const UserError&) {
      return false;
    }
    return true;
  }

  // Node `n` becomes the operator; views carry values to where other shapes are asked for.
  void replace(int anchor, int n, ValueId made, ValueId v, const Workload& w, const Inferred& types,
               const std::vector<ValueId>& inputs) {
    const Node a = g_.nodes[anchor], e = g_.nodes[n];
    Node joint{w, {}, e.outputs, a.origin == e.origin || e.origin.empty() ? a.origin : a.origin + " + " + e.origin};
    // The anchor and a view behind it go: nobody reads them any more.
    if (made != v) remove(producer(v));
    remove(anchor);
    remove(n);
    const auto view = [&](ValueId from, const TensorType& to) {
      if (g_.value(from).type == to) return from;
      const std::string name = new_name(g_.value(from).name);
      if (const auto& constant = g_.value(from).constant) return add(Value{name, to, constant->reshaped(to.shape)});
      const ValueId id = add(Value{name, to, std::nullopt});
      add(Node{reshape_workload(g_.value(from).type, to), {from}, {id}, ""}, n);
      return id;
    };
    for (size_t i = 0; i < inputs.size(); ++i) joint.inputs.push_back(view(inputs[i], types.inputs[i]));
    if (types.outputs[0].shape == g_.value(e.outputs[0]).type.shape) return add(std::move(joint), n);
    joint.outputs = {made};  // the anchor's own value, of the operator's shape
    g_.values[made].type = types.outputs[0];
    add(std::move(joint), n);
    add(Node{reshape_workload(types.outputs[0], g_.value(e.outputs[0]).type), {made}, e.outputs, ""}, n);
  }

  // A name for another view of the value `of`: the model, or an earlier run of this pass, may have such names.
  std::string new_name(const std::string& of) {
    for (;;)
      if (std::string name = of + "." + std::to_string(++number_); names_.insert(name).second) return name;
  }

  Workload reshape_workload(const TensorType& from, const TensorType& to) const {
    return infer(c_.operators, "reshape", AttributeTexts{{"to", text_of_extents(to.shape)}}, {&from, 1}).workload;
  }

  Graph g_;
  const PassContext& c_;
  Uses uses_;
  IdVector<int> place_;  ///< of each node: that of the node of the given graph where it stands
  IdVector<bool> is_gone_;
  std::unordered_set<std::string> names_;
  int number_ = 0;
};

}  // namespace

Graph fuse_epilogues(const Graph& g, const PassContext& context) { return EpilogueFuser(g, context).run(); }

}  // namespace hone
