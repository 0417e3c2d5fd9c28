#include "compiler/graph/passes/chains.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// Whether a node puts zeros around images, and nothing in front of or behind images and channels.
bool pads_planes(const Node& n) {
  const Attributes& a = n.workload.attributes;
  if (a.text("mode") != "constant" || a.text("value") != "0") return false;
  const Extents &before = a.get<Extents>("before"), &after = a.get<Extents>("after");
  return before.size() == 4 && before[0] == 0 && before[1] == 0 && after[0] == 0 && after[1] == 0;
}

}  // namespace

Graph fold_pads(const Graph& g, const PassContext& context) {
  Rewriter r(g, context);
  return r.run([&](const Node& n) {
    if (!is<ops::Conv2d, ops::DepthwiseConv2d>(n) || layout_of(n.workload).in != "NCHW" || has_prologue(n))
      return false;
    const Node* pad = r.producer<ops::Pad>(n.inputs[0]);
    if (!pad || !pads_planes(*pad)) return false;
    const Extents &image = r.shape(pad->inputs[0]), &before = pad->workload.attributes.get<Extents>("before"),
                  &after = pad->workload.attributes.get<Extents>("after");
    const ConvShape& s = conv_shape(n.workload);
    const Pads padding{s.pad_top + before[2], s.pad_left + before[3], s.pad_bottom + after[2], s.pad_right + after[3]};
    std::vector<ValueId> inputs = n.inputs;
    inputs[0] = pad->inputs[0];
    // It may be more than an operator's padding may be.
    r.become_if_allowed(
        n, [&] { return with_padding(n.workload, image[2], image[3], padding); }, std::move(inputs));
    return false;
  });
}

}  // namespace hone
