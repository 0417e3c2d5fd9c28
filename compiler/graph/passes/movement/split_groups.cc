#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/time_text.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/dtypes.h"
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

class GroupSplitter : public Rewriter {
 public:
  GroupSplitter(const Graph& g, const PassContext& context) : Rewriter(g, context) {
    for (const Node& n : g.nodes) {
      const double seconds = measured(n.workload).value_or(0);
      whole_ += seconds;
      of_group_[to_string(n.workload)] += seconds;
    }
  }

  bool rewrite(const Node& n) {
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
    std::vector<ValueId> inputs{b_.add(parts->anchor.workload, now(parts->anchor.inputs))[0]};
    for (size_t o = 0; o < parts->operands.size(); ++o)
      inputs.push_back(with_shape(now(parts->operands[o]), parts->shapes[o]));
    if (c_.notes)
      c_.notes->say(n.origin, fmt::format("measured apart from the {} before it {} ms, as one with it {} ms",
                                          n.workload.operator_name(), ms_text(*anchor + *rest), ms_text(*whole)));
    return replace(n, parts->rest, inputs);
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
    const std::vector<BoundLink> links = bound_links(n);
    const size_t cut = cut_of(links);
    if (cut == links.size()) return std::nullopt;
    const TensorType& whole = type(n.outputs[0]);
    std::vector<BoundLink> first(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(cut));
    BoundChain second{chain_of(std::span(links).subspan(cut)), {}};
    second.operands.assign(n.inputs.end() - static_cast<std::ptrdiff_t>(operands_of(second.chain)), n.inputs.end());
    const size_t labels = labels_of(chain_of(first).links);
    each_label(second.chain.links, [&](Label& label) { label.index -= labels; });
    std::vector<TensorType> types{whole};
    std::vector<Extents> shapes;
    const bool all_fit = second.change_operands([&](ValueId v, const Operand& o) -> std::optional<Argument> {
      const auto seen = broadcast_shape(o, shape(v), whole.shape);
      if (!seen || element_count(*seen) != element_count(shape(v))) return std::nullopt;
      shapes.push_back(*seen);
      types.push_back({dtype(v), *seen});
      return Operand{};
    });
    auto anchor = all_fit ? with_links(n, first, whole.shape, c_.functions) : std::nullopt;
    const auto rest = anchor ? elementwise_of(c_.operators, c_.functions, second.chain, types) : std::nullopt;
    if (!rest || inferred(*rest).outputs[0] != whole) return std::nullopt;
    return Parts{std::move(*anchor), *rest, second.operands, shapes};
  }

  std::map<std::string, std::optional<double>> known_;  ///< by workload
  std::map<std::string, double> of_group_;              ///< by workload: of all nodes
  double whole_ = 0;
};

}  // namespace

Graph split_groups(const Graph& g, const PassContext& context) {
  return context.measured ? rewritten_by<GroupSplitter>(g, context) : g;
}

}  // namespace hone
