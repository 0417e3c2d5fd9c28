// A quantised model as a graph of floats, as QDQ exporters write it: its products are products of bytes.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/passes/passes.h"
#include "compiler/quantize/ranges.h"

namespace hone {

/// The parts of an imported graph that become int8.
struct QuantizationPlan {
  std::vector<int> products;    ///< nodes: convolutions and dense products of f32 with weights that are known
  std::vector<ValueId> values;  ///< their inputs, each once
};
/// `keep`: names of the model's nodes that stay as they are. UserError, one line, for a name that no such node has, and
/// for a graph without any.
QuantizationPlan plan_quantization(const Graph& g, const std::vector<std::string>& keep);

/// The graph with these values as further outputs, behind its own, in order.
Graph with_outputs(const Graph& g, const std::vector<ValueId>& values);

/// The graph with the planned values rounded to bytes and back: values by steps over their ranges, weights by -127 to
/// 127 for each output channel. narrow_products() makes sums of bytes of it. `ranges` has all of the plan's values;
/// UserError, one line, where one is missing.
Graph quantized(const Graph& g, const QuantizationPlan& plan, const Ranges& ranges, const PassContext& context);

}  // namespace hone
