#include <fmt/format.h>

#include "compiler/graph/passes/passes.h"
#include "compiler/ir/extents.h"
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

Graph fold_pads(const Graph& g) {
  Graph out = g;
  const IdVector<int> producer = uses_of(g).producer;
  for (Node& n : out.nodes) {
    if (!is_convolution_of_planes(n)) continue;
    const int p = producer[n.inputs[0]];
    if (p < 0 || !pads_planes(g.nodes[p])) continue;
    const Node& pad = g.nodes[p];
    const Extents &shape = g.value(pad.inputs[0]).type.shape, &before = pad.workload.attributes.get<Extents>("before"),
                  &after = pad.workload.attributes.get<Extents>("after");
    const ConvShape& s = conv_shape(n.workload);
    const std::pair<std::string, std::string> changes[] = {
        {"h", std::to_string(shape[2])},
        {"w", std::to_string(shape[3])},
        {"pad", fmt::format("{}:{}:{}:{}", s.pad_top + before[2], s.pad_left + before[3], s.pad_bottom + after[2],
                            s.pad_right + after[3])}};
    try {
      n.workload = Workload::changed(n.workload, changes);
    } catch (const UserError&) {  // more than an operator's padding may be
      continue;
    }
    n.inputs[0] = pad.inputs[0];
  }
  return remove_dead(out);
}

}  // namespace hone
