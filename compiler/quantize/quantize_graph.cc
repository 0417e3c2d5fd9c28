#include "compiler/quantize/quantize_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "compiler/graph/passes/rewriter.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/functions/chain.h"

namespace hone {
namespace {

bool is_finite(const TensorData& data) {
  const std::vector<float> values = elements_of<float>(data);
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

bool is_product(const Graph& g, const Node& n) {
  if (!is<ops::Conv2d, ops::DepthwiseConv2d, ops::Dense>(n)) return false;
  const DTypes& t = dtypes_of(n.workload);
  return t.in == f32 && t.weight == f32 && t.out == f32 && !t.tf32 && g.is_constant(n.inputs[1]) &&
         !g.is_constant(n.inputs[0]) && n.workload.attributes.text("prologue") == "none" &&
         is_finite(*g.value(n.inputs[1]).constant);
}

// The nearest of -127 to 127 steps, for each output channel, and back.
TensorData rounded_weights(const TensorData& data) {
  constexpr double kMostSteps = 127;
  std::vector<float> out = elements_of<float>(data);
  const auto channels = static_cast<size_t>(data.type().shape[0]);
  const size_t each = out.size() / channels;
  for (size_t c = 0; c < channels; ++c) {
    const std::span<float> own(out.data() + c * each, each);
    double most = 0;
    for (const float v : own) most = std::max(most, std::abs(static_cast<double>(v)));
    const double step = most / kMostSteps;
    for (float& v : own) v = step > 0 ? static_cast<float>(std::round(static_cast<double>(v) / step) * step) : 0;
  }
  return {data.type(), std::string(reinterpret_cast<const char*>(out.data()), out.size() * sizeof(float))};
}

}  // namespace

QuantizationPlan plan_quantization(const Graph& g, const std::vector<std::string>& keep) {
  QuantizationPlan plan;
  std::set<ValueId> values;
  std::set<std::string> kept, known;
  for (size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (!is_product(g, n)) continue;
    known.insert(n.origin);
    if (std::find(keep.begin(), keep.end(), n.origin) != keep.end()) {
      kept.insert(n.origin);
      continue;
    }
    plan.products.push_back(static_cast<int>(i));
    if (values.insert(n.inputs[0]).second) plan.values.push_back(n.inputs[0]);
  }
  HONE_USER_CHECK(!known.empty()) << "--quantize: the model has no convolution or product of f32 with known weights";
  for (const std::string& name : keep)
    HONE_USER_CHECK(kept.contains(name)) << "--keep " << clean_line(name)
                                         << ": no layer that can be quantised has this name; there are "
                                         << clean_line(fmt::format("{}", fmt::join(known, ", ")));
  return plan;
}

Graph with_outputs(const Graph& g, const std::vector<ValueId>& values) {
  Graph out = g;
  std::set<std::string> names;
  for (const Port& p : g.outputs) names.insert(p.name);
  for (const ValueId v : values) {
    std::string name = "value " + g.value(v).name;
    while (!names.insert(name).second) name += "'";
    out.outputs.push_back({name, v, g.value(v).type});
  }
  return out;
}

Graph quantized(const Graph& g, const QuantizationPlan& plan, const Ranges& ranges, const PassContext& context) {
  for (const ValueId v : plan.values)
    HONE_USER_CHECK(ranges.contains(g.value(v).name)) << "the ranges have nothing for '" << clean_line(g.value(v).name)
                                                      << "': they are of another model, or of other flags";
  Rewriter rebuild(g, context);
  GraphBuilder& b = rebuild.builder();
  const auto round = [&](ValueId v) {
    const ByteScale s = scale_over(ranges.at(g.value(v).name));
    const std::string scale = argument_text(static_cast<float>(s.scale));
    const std::string zero = s.zero == 0 ? "" : fmt::format("+add[{}]", argument_text(static_cast<float>(s.zero))),
                      back = s.zero == 0 ? "" : fmt::format("+sub[{}]", argument_text(static_cast<float>(s.zero)));
    const ValueId bytes = b.add_one("elementwise", {{"op", fmt::format("div[{}]+round{}+saturate:u8", scale, zero)}},
                                    {rebuild.now(v)}, g.value(v).name + "_bytes");
    rebuild.stand_in(v, b.add_one("elementwise", {{"op", fmt::format("cast:f32{}+mul[{}]", back, scale)}}, {bytes}));
  };
  std::set<ValueId> waiting(plan.values.begin(), plan.values.end());
  const std::set<int> products(plan.products.begin(), plan.products.end());
  const auto round_if_made = [&](ValueId v) {
    if (waiting.erase(v)) round(v);
  };
  int index = 0;
  return rebuild.run([&](const Node& n) {
    if (index == 0)
      for (const Port& p : g.inputs)
        if (p.value != kNoValue) round_if_made(p.value);
    const bool is_planned = products.contains(index++);
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const bool is_weight = is_planned && i == 1;
      inputs.push_back(is_weight
                           ? b.constant(rounded_weights(*g.value(n.inputs[1]).constant), g.value(n.inputs[1]).name)
                           : rebuild.now(n.inputs[i]));
    }
    std::vector<std::string> names;
    for (const ValueId v : n.outputs) names.push_back(g.value(v).name);
    const std::vector<ValueId> made = b.add(n.workload, inputs, names);
    for (size_t o = 0; o < made.size(); ++o) {
      rebuild.stand_in(n.outputs[o], made[o]);
      round_if_made(n.outputs[o]);
    }
    return true;
  });
}

}  // namespace hone
