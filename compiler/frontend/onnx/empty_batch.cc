#include "compiler/frontend/onnx/empty_batch.h"

#include <algorithm>
#include <set>

namespace hone::onnx {

bool is_over_nothing(const NodeContext& c) {
  static const std::set<std::string_view> kOverBatches = {
      "Conv",   "ConvTranspose", "ConvInteger",   "QLinearConv",       "DeformConv", "MaxPool", "AveragePool",
      "LpPool", "GlobalLpPool",  "GlobalMaxPool", "GlobalAveragePool", "MaxUnpool",  "Resize",  "GridSample"};
  if (!c.node.domain().empty() || !kOverBatches.contains(c.node.op_type()) || !c.has(0)) return false;
  const Extents& shape = c.in(0).type.shape;
  return shape.size() > 1 && shape[0] == 0 && std::count(shape.begin(), shape.end(), 0) == 1;
}

void run_over_nothing(NodeContext& c, Converter convert) {
  // A graph that is thrown away: only the types of the outputs in it are used.
  GraphBuilder elsewhere(c.l.b.operators(), "one image");
  FileLowering l(elsewhere, c.l);
  NodeContext one{c.node, c.opset, {}, std::vector<Operand>(c.outputs.size()), l, c.is_wanted};
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    one.inputs.push_back(c.inputs[i]);
    if (!c.has(i)) continue;
    Operand& x = *one.inputs.back();
    if (!x.type.shape.empty() && x.type.shape[0] == 0) x.type.shape[0] = 1;
    const auto known = x.is_empty() ? std::nullopt : c.l.data_of(x);
    const TensorType in_graph{x.type.dtype, x.type.shape.empty() ? Extents{1} : x.type.shape};
    x.id = known ? elsewhere.constant(known->reshaped(in_graph.shape)) : elsewhere.input(std::to_string(i), in_graph);
  }
  convert(one);
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    if (o < c.is_wanted.size() && !c.is_wanted[o] && one.outputs[o].type.shape.empty()) continue;
    c.outputs[o] = {kNoValue, one.outputs[o].type};
    c.outputs[o].type.shape.at(0) = 0;
  }
}

}  // namespace hone::onnx
