#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/time_text.h"
#include "compiler/graph/passes/axes.h"
#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
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
  for (size_t l = links.size(); l-- > cut;)
    each_label(std::span(&links[l].link, 1), [&](const Label& label) { cut = std::min(cut, labels[label.index]); });
  return cut;
}

// An operand of elements of `shape` as one that is broadcast to them; nothing where it lies in another order.
std::optional<Extents> broadcast_shape(const Operand& o, const Extents& own, const Extents& shape) {
  using Kind = Operand::Kind;
  const bool is_blocked = shape.size() == 5;
  if (o.kind == Kind::kSame) return shape;
  if ((o.kind == Kind::kRow && is_blocked) || (o.kind == Kind::kShape && own.size() != shape.size()))
    return std::nullopt;
  if (o.kind == Kind::kShape) return own;
  Extents out(shape.size(), 1);
  if (o.kind == Kind::kRow) std::copy(shape.begin(), shape.end() - 1, out.begin());
  if (o.kind == Kind::kChannel) {
    out[channel_axis(shape)] = shape[channel_axis(shape)];
    if (is_blocked) out[1] = shape[1];
  }
  return out;
}

class GroupSplitter : public Rewriter {
 public:
  GroupSplitter(const Graph& g, const PassContext& context) : Rewriter(g, context) {
    for (const Node& n : g.nodes) {
      const double seconds = c_.measured(n.workload).value_or(0);
      whole_ += seconds;
      of_group_[to_string(n.workload)] += seconds;
    }
  }

  bool rewrite(const Node& n) {
    const auto whole = c_.measured(n.workload);
    if (!whole || of_group_[to_string(n.workload)] < kLeastShare * whole_) return false;
    const std::optional<Parts> parts = parts_of(n);
    if (!parts) return false;
    const auto anchor = c_.measured(parts->anchor.workload), rest = c_.measured(parts->rest.workload);
    if (!anchor || !rest) {
      for (const auto& [time, workload] :
           {std::pair(anchor, &parts->anchor.workload), std::pair(rest, &parts->rest.workload)})
        if (!time && c_.alternatives) c_.alternatives->push_back(*workload);
      return false;
    }
    if (*anchor + *rest > (1 - kLeastGain) * *whole) return false;
    std::vector<ValueId> inputs{b_.add(parts->anchor.workload, now(parts->anchor.inputs))[0]};
    for (size_t o = 0; o < parts->shapes.size(); ++o)
      inputs.push_back(with_shape(now(parts->rest.inputs[o]), parts->shapes[o]));
    if (c_.notes)
      c_.notes->say(n.origin, fmt::format("measured apart from the {} before it {} ms, as one with it {} ms",
                                          n.workload.operator_name(), ms_text(*anchor + *rest), ms_text(*whole)));
    return replace(n, parts->rest.workload, inputs);
  }

 private:
  struct Parts {
    Rewritten anchor;             ///< with the first part of the epilogue
    Rewritten rest;               ///< elementwise, of the anchor's result and these operands
    std::vector<Extents> shapes;  ///< that it sees them with
  };

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
    return Parts{std::move(*anchor), {*rest, second.operands}, shapes};
  }

  std::map<std::string, double> of_group_;  ///< by workload: of all nodes
  double whole_ = 0;
};

}  // namespace

Graph split_groups(const Graph& g, const PassContext& context) {
  return context.measured ? rewritten_by<GroupSplitter>(g, context) : g;
}

}  // namespace hone
