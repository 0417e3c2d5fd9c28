#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// The zeros that a node puts around images; nothing where it puts other numbers, or any before or behind channels.
std::optional<Pads> zeros_of(const Node& pad) {
  const Attributes& a = pad.workload.attributes;
  const Extents &before = a.get<Extents>("before"), &after = a.get<Extents>("after");
  const bool is_around_images = before.size() == 4 && before[0] + before[1] + after[0] + after[1] == 0;
  const bool is_zero = a.text("mode") == "constant" && a.text("value") == "0";
  return is_around_images && is_zero ? std::optional(Pads{before[2], before[3], after[2], after[3]}) : std::nullopt;
}

}  // namespace

Graph fold_pads(const Graph& g, const PassContext& context) {
  Rewriter r(g, context);
  return r.run([&](const Node& n) {
    const bool is_in_planes =
        is<ops::Conv2d, ops::DepthwiseConv2d>(n) && layout_of(n.workload).in == "NCHW" && !has_prologue(n);
    const Node* pad = is_in_planes ? r.producer<ops::Pad>(n.inputs[0]) : nullptr;
    const auto zeros = pad ? zeros_of(*pad) : std::nullopt;
    if (!zeros) return false;
    std::vector<ValueId> inputs = n.inputs;
    inputs[0] = pad->inputs[0];
    // It may be more than an operator's padding may be.
    r.become_if_allowed(n, std::move(inputs), [&] { return with_padding_for(n.workload, *zeros); });
    return false;
  });
}

}  // namespace hone
