#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/time_text.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/rewrite/changed.h"

namespace hone {
namespace {

// Times of different jobs on a shared machine differ by so much.
constexpr double kLeastGain = 0.05;
// Groups with a smaller share of the model's measured time are not worth measurements of their parts.
constexpr double kLeastShare = 0.02;

// Where an epilogue is cut: in front of its first function that is not cheap, and of the name of a value that functions
// behind it use. The links' number where there is none.
size_t cut_of(const std::vector<BoundLink>& links) {
  size_t cut = 0;
  while (cut < links.size() && is_cheap(links[cut].link)) ++cut;
  if (cut == links.size()) return cut;
  std::vector<size_t> labels;  // their positions
  for (size_t l = 0; l < links.size(); ++l)
    if (!links[l].link.function) labels.push_back(l);
  for (size_t l = links.size(); l-- > 0;)
    for (const Argument& a : links[l].link.arguments)
      if (const auto* label = std::get_if<Label>(&a); label && l >= cut) cut = std::min(cut, labels[label->index]);
  return cut;
}

// An operand of elements of `shape` as one that is broadcast to them; nothing where it lies in another order.
std::optional<Extents> broadcast_shape(const Operand& o, const Extents& own, const Extents& shape) {
  const bool is_blocked = shape.size() == 5;
  Extents out(shape.size(), 1);
  switch (o.kind) {
    case Operand::Kind::kSame: return shape;
    case Operand::Kind::kOne: return out;
    case Operand::Kind::kChannel:
      if (is_blocked) out[4] = shape[4];
      out[shape.size() < 4 ? shape.size() - 1 : 1] = is_blocked ? shape[1] : own[0];
      return out;
    case Operand::Kind::kRow:
      if (is_blocked) return std::nullopt;
      std::copy(shape.begin(), shape.end() - 1, out.begin());
      return out;
    case Operand::Kind::kShape:
      if (own.size() != shape.size()) return std::nullopt;
      return own;
  }
  return std::nullopt;
}

class GroupSplitter {
 public:
  GroupSplitter(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {
    for (const Node& n : g.nodes) whole_ += measured(n.workload).value_or(0);
    for (const Node& n : g.nodes) of_group_[to_string(n.workload)] += measured(n.workload).value_or(0);
  }

  Graph run() {
    return r_.run([&](const Node& n) { return split(n); });
  }

 private:
  struct Parts {
    Rewritten anchor;               ///< with the first part of the epilogue
    Workload rest;                  ///< elementwise
    std::vector<ValueId> operands;  ///< of the rest
    std::vector<Extents> shapes;    ///< that the rest sees them with
  };

  std::optional<double> measured(const Workload& w) {
    const auto [at, is_new] = known_.try_emplace(to_string(w));
    if (is_new) at->second = c_.measured(w);
    return at->second;
  }

  std::optional<Parts> parts_of(const Node& n) const {
    if (!n.workload.attributes.has("epilogue") || n.outputs.size() != 1) return std::nullopt;
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    if (t.accumulate != t.out || epilogue_of(n.workload).types.result != t.out) return std::nullopt;
    std::vector<BoundLink> links = bound_links(n);
    const size_t cut = cut_of(links);
    if (cut == links.size()) return std::nullopt;
    Parts parts{{n.workload, {}}, n.workload, {}, {}};
    const TensorType& type = r_.type(n.outputs[0]);
    std::vector<TensorType> types{type};
    size_t labels = 0;
    for (size_t l = 0; l < cut; ++l) labels += links[l].link.function ? 0 : 1;
    Chain chain;
    for (size_t l = cut; l < links.size(); ++l) {
      auto operand = links[l].operands.begin();
      for (Argument& a : links[l].link.arguments) {
        if (auto* label = std::get_if<Label>(&a)) label->index -= labels;
        const auto* o = std::get_if<Operand>(&a);
        if (!o) continue;
        const TensorType& own = r_.type(*operand);
        const auto shape = broadcast_shape(*o, own.shape, type.shape);
        if (!shape || element_count(*shape) != element_count(own.shape)) return std::nullopt;
        parts.operands.push_back(*operand++);
        parts.shapes.push_back(*shape);
        types.push_back({own.dtype, *shape});
        a = Operand{};
      }
      chain.links.push_back(links[l].link);
    }
    links.resize(cut);
    auto anchor = with_links(n, links, type.shape, c_.functions);
    if (!anchor) return std::nullopt;
    parts.anchor = std::move(*anchor);
    const auto rest = elementwise_of(c_.operators, c_.functions, chain, types);
    if (!rest || inferred(*rest).outputs[0] != type) return std::nullopt;
    parts.rest = *rest;
    return parts;
  }

  bool split(const Node& n) {
    const auto whole = measured(n.workload);
    if (!whole || of_group_[to_string(n.workload)] < kLeastShare * whole_) return false;
    const std::optional<Parts> parts = parts_of(n);
    if (!parts) return false;
    const auto anchor = measured(parts->anchor.workload), rest = measured(parts->rest);
    if (!anchor || !rest) {
      for (const auto& [time, workload] : {std::pair(anchor, &parts->anchor.workload), std::pair(rest, &parts->rest)})
        if (!time && c_.alternatives) c_.alternatives->push_back(*workload);
      return false;
    }
    if (*anchor + *rest > (1 - kLeastGain) * *whole) return false;
    GraphBuilder& b = r_.builder();
    std::vector<ValueId> inputs{b.add(parts->anchor.workload, r_.now(parts->anchor.inputs))[0]};
    for (size_t o = 0; o < parts->operands.size(); ++o)
      inputs.push_back(r_.with_shape(r_.now(parts->operands[o]), parts->shapes[o]));
    r_.stand_in(n.outputs[0], b.add(parts->rest, inputs, {r_.name(n.outputs[0])})[0]);
    if (c_.notes)
      c_.notes->say(n.origin, fmt::format("measured apart from the {} before it {} ms, as one with it {} ms",
                                          n.workload.operator_name(), ms_text(*anchor + *rest), ms_text(*whole)));
    return true;
  }

  const PassContext& c_;
  Rewriter r_;
  std::map<std::string, std::optional<double>> known_;  ///< by workload
  std::map<std::string, double> of_group_;              ///< by workload: of all nodes
  double whole_ = 0;
};

}  // namespace

Graph split_groups(const Graph& g, const PassContext& context) {
  return context.measured ? GroupSplitter(g, context).run() : g;
}

}  // namespace hone
