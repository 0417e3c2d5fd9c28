#include <fmt/format.h>

#include "compiler/graph/passes/chains.h"
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

class PrologueFuser : public Rewriter {
 public:
  using Rewriter::Rewriter;

  bool rewrite(const Node& n) {
    const Node* e = n.workload.attributes.has("prologue") ? own_producer<ops::Elementwise>(n.inputs[0]) : nullptr;
    const std::string why = e ? join(*e, n) : "";
    if (!why.empty() && c_.notes) c_.notes->say_too(e->origin, why);
    return false;
  }

 private:
  // Makes `e` the prologue of `n`. Empty, or why not.
  std::string join(const Node& e, const Node& n) {
    if (std::string why = why_none(n); !why.empty()) return why;
    const std::string behind = fmt::format("the {} behind it", n.workload.operator_name());
    const ElementwiseShape& s = elementwise_shape(e.workload);
    const TensorType& x = type(e.inputs[0]);
    const DTypes& t = n.workload.attributes.get<DTypes>("dtype");
    if (x.dtype != f32 || t.accumulate != f32 || t.in != f32 || !stays(s.types, f32))
      return behind + " takes prologues of f32 alone";
    if (x.shape != s.shape) return fmt::format("%{} is repeated", name(e.inputs[0]));
    if (!is_cheap(s.chain)) return behind + " takes cheap functions alone";
    BoundChain chain = bound_chain(e);
    const auto as_prologue = [&](ValueId id, const Operand&) -> std::optional<Argument> {
      if (shape(id) == s.shape) return Operand{Operand::Kind::kSame, {}};
      if (shape(id).size() == s.shape.size()) return Operand{Operand::Kind::kShape, shape(id)};
      return std::nullopt;
    };
    if (!chain.change_operands(as_prologue)) return "its operands do not fit " + behind;
    // Behind the operator's own inputs and in front of its epilogue's operands.
    std::vector<ValueId> inputs = n.inputs;
    inputs[0] = e.inputs[0];
    inputs.insert(inputs.end() - static_cast<std::ptrdiff_t>(bound_epilogue(n).operands.size()), e.inputs.begin() + 1,
                  e.inputs.end());
    std::string why = behind + " does not take it";
    const auto with_both = [&]() -> std::optional<Workload> {
      const Workload w = with_prologue(n.workload, chain.chain, s.shape, c_.functions);
      if (inferred(w).inputs == types(inputs)) return w;
      why = "its operands do not fit " + behind;
      return std::nullopt;
    };
    return become_if_allowed(n, inputs, with_both, &e) ? "" : why;
  }
};

}  // namespace

Graph fuse_prologues(const Graph& g, const PassContext& context) { return rewritten_by<PrologueFuser>(g, context); }

}  // namespace hone
