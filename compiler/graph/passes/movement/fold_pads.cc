#include "compiler/graph/passes/passes.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ir/extents.h"
#include "compiler/ops/rewrite/changed.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

// Whether a node puts zeros around images, and nothing in front of or behind images and channels.
bool pads_planes(const Node& n) {
  if (!is<ops::Pad>(n) || n.workload.attributes.text("mode") != "constant" ||
      n.workload.attributes.text("value") != "0")
    return false;
  const Extents &before = n.workload.attributes.get<Extents>("before"),
                &after = n.workload.attributes.get<Extents>("after");
  return before.size() == 4 && before[0] == 0 && before[1] == 0 && after[0] == 0 && after[1] == 0;
}

bool is_convolution_of_planes(const Node& n) {
  return is<ops::Conv2d, ops::DepthwiseConv2d>(n) && layout_of(n.workload).in == "NCHW" &&
         n.workload.attributes.text("prologue") == "none";
}

}  // namespace

Graph fold_pads(const Graph& g, const PassContext& context) {
  Rewriter r(g, context);
  return r.run([&](const Node& n) {
    const Node* pad = is_convolution_of_planes(n) ? r.producer(n.inputs[0]) : nullptr;
    if (!pad || !pads_planes(*pad)) return false;
    const Extents &image = r.shape(pad->inputs[0]), &before = pad->workload.attributes.get<Extents>("before"),
                  &after = pad->workload.attributes.get<Extents>("after");
    const ConvShape& s = conv_shape(n.workload);
    std::vector<ValueId> inputs = n.inputs;
    inputs[0] = pad->inputs[0];
    try {
      r.become(n,
               with_padding(
                   n.workload, image[2], image[3],
                   {s.pad_top + before[2], s.pad_left + before[3], s.pad_bottom + after[2], s.pad_right + after[3]}),
               inputs);
    } catch (const UserError&) {  // more than an operator's padding may be
    }
    return false;
  });
}

}  // namespace hone
