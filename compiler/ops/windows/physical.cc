#include "compiler/ops/windows/physical.h"

#include <fmt/format.h>

#include "compiler/ops/epilogue.h"
#include "compiler/ops/windows/conv_shape.h"

namespace hone {
namespace {

PhysicalTypes::Tensor tensor(const TensorType& logical, int64_t block) {
  const Layout layout =
      block > 1 ? Layout::parse(fmt::format("NCHW{}c", block), "NCHW", logical.shape) : Layout::identity(logical.shape);
  return {logical, layout, {logical.dtype, layout.physical_shape()}};
}

}  // namespace

PhysicalTypes physical_types(const Workload& w) {
  const Inferred types = inferred(w);
  int64_t in_block = 1, out_block = 1;
  if (w.attributes.has("layout") && layout_of(w).in_block > 0) {
    in_block = layout_of(w).in_block;
    out_block = layout_of(w).out_block;
  }
  PhysicalTypes out;
  const TensorType& result = types.outputs[0];
  size_t own = types.inputs.size();  // the last inputs are the epilogue's
  if (w.attributes.has("epilogue"))
    for (const ChainLink& link : epilogue_of(w).chain.links)
      for (const Argument& a : link.arguments) own -= std::holds_alternative<Operand>(a) ? 1 : 0;
  for (size_t i = 0; i < types.inputs.size(); ++i) {
    // Operands of the epilogue that have the output's shape lie as it does; weights may have that shape by chance.
    const bool is_like_output = i >= own && types.inputs[i].shape == result.shape;
    out.inputs.push_back(tensor(types.inputs[i], i == 0 ? in_block : is_like_output ? out_block : 1));
  }
  for (const TensorType& t : types.outputs) out.outputs.push_back(tensor(t, t.shape == result.shape ? out_block : 1));
  return out;
}

}  // namespace hone
