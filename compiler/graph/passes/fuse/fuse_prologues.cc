#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/pooling.h"

namespace hone {
namespace {

// Why a node that could have a prologue is to have none; empty when it reads each element of its first input about
// once. Products would compute the prologue once for each tile of their outputs.
std::string why_none(const Node& n) {
  const Attributes& a = n.workload.attributes;
  const std::string& task = n.workload.operator_name();
  if (n.outputs.size() != 1) return fmt::format("the {} behind it has several outputs", task);
  if (a.text("prologue") != "none") return fmt::format("the {} behind it has another", task);
  if (is<ops::MaxPool2d, ops::AvgPool2d>(n)) {
    const PoolShape& s = pool_shape(n.workload);
    if (s.stride_h >= s.kh && s.stride_w >= s.kw) return "";
    return fmt::format("windows of the {} behind it overlap", task);
  }
  if (a.has("shape")) return "";  // rows
  return fmt::format("the {} behind it would compute it several times", task);
}

class PrologueFuser {
 public:
  PrologueFuser(const Graph& g, const PassContext& context) : c_(context), r_(g, context) {}

  Graph run() {
    return r_.run([&](const Node& n) {
      const Node* e = n.workload.attributes.has("prologue") ? r_.own_producer(n.inputs[0]) : nullptr;
      if (!e || !is<ops::Elementwise>(*e)) return false;
      const std::string why = join(*e, n);
      if (!why.empty() && c_.notes) c_.notes->say_too(e->origin, why);
      return false;
    });
  }

 private:
  std::optional<Operand> operand_for(ValueId id, const std::vector<int64_t>& shape) const {
    const std::vector<int64_t>& own = r_.shape(id);
    if (own == shape) return Operand{Operand::Kind::kSame, {}};
    if (own.size() == shape.size()) return Operand{Operand::Kind::kShape, own};
    return std::nullopt;
  }

  // Makes `e` the prologue of `n`. Empty, or why not.
  std::string join(const Node& e, const Node& n) {
    if (std::string why = why_none(n); !why.empty()) return why;
    const std::string behind = fmt::format("the {} behind it", n.workload.operator_name());
    const ElementwiseShape& s = elementwise_shape(e.workload);
    const TensorType& x = r_.type(e.inputs[0]);
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    const bool is_of_one_type =
        x.dtype == f32 && t.accumulate == f32 && t.in == f32 &&
        std::all_of(s.types.after.begin(), s.types.after.end(), [](DType a) { return a == f32; });
    if (!is_of_one_type) return behind + " takes prologues of f32 alone";
    if (x.shape != s.shape) return fmt::format("%{} is repeated", r_.name(e.inputs[0]));
    if (!std::all_of(s.chain.links.begin(), s.chain.links.end(), &is_cheap))
      return behind + " takes cheap functions alone";
    Chain chain = s.chain;
    auto operand = e.inputs.begin() + 1;
    for (ChainLink& link : chain.links)
      for (Argument& a : link.arguments)
        if (std::holds_alternative<Operand>(a)) {
          const auto of = operand_for(*operand++, s.shape);
          if (!of) return "its operands do not fit " + behind;
          a = *of;
        }
    try {
      const Workload w = with_prologue(n.workload, chain, s.shape, c_.functions);
      // Behind the operator's own inputs and in front of its epilogue's operands.
      std::vector<ValueId> inputs = n.inputs;
      inputs[0] = e.inputs[0];
      inputs.insert(inputs.end() - static_cast<std::ptrdiff_t>(operands_of_epilogue(n)), e.inputs.begin() + 1,
                    e.inputs.end());
      const Inferred types = inferred(w);
      for (size_t i = 0; i < inputs.size(); ++i)
        if (types.inputs[i] != r_.type(inputs[i])) return "its operands do not fit " + behind;
      r_.become(n, w, std::move(inputs), &e);
      return "";
    } catch (const UserError&) {
      return behind + " does not take it";
    }
  }

  static size_t operands_of_epilogue(const Node& n) {
    if (!n.workload.attributes.has("epilogue")) return 0;
    size_t operands = 0;
    for (const BoundLink& l : bound_links(n)) operands += l.operands.size();
    return operands;
  }

  const PassContext& c_;
  Rewriter r_;
};

}  // namespace

Graph fuse_prologues(const Graph& g, const PassContext& context) { return PrologueFuser(g, context).run(); }

}  // namespace hone
