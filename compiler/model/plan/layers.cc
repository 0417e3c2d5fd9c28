#include "compiler/model/plan/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "compiler/lower/layout_functions.h"
#include "compiler/lower/repeat.h"
#include "compiler/model/pack/gpu_packing.h"
#include "compiler/model/pack/shared_packing.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/recurrence.h"
#include "compiler/ops/windows/physical.h"

namespace hone {
namespace {

struct Lowered {
  Module module;
  std::string config, source, held_back = {};
  std::optional<HostFunction> host = std::nullopt;
  std::optional<Module> step = std::nullopt;
};

Lowered in_c(HostFunction f, const Target& target) {
  Module m;
  if (!target.is_gpu()) m.workspace_bytes = f.workspace_bytes;  // a GPU's host has its own
  for (const auto& [types, role] : {std::pair(&f.inputs, ParamRole::kInput), {&f.outputs, ParamRole::kOutput}})
    for (const TensorType& t : *types)
      m.params.push_back({fmt::format("t{}", m.params.size()), role, t.dtype, t.shape, Layout::identity(t.shape)});
  return {.module = std::move(m), .config = "", .source = "host", .host = std::move(f)};
}

// Whether the kernel takes the parameter in a layout of its own, which is how its value lies in memory; blocks of 1 lie
// as none.
bool lies_as(const Param& p, const TensorType& value) {
  if (p.role == ParamRole::kConstant || p.layout == Layout::identity(p.shape)) return false;
  std::vector<int64_t> shape = p.layout.physical_shape();
  if (shape.size() == value.shape.size() + 1 && shape.back() == 1) shape.pop_back();
  return shape == value.shape;
}

// The function in C that computes the node on this target. A GPU takes its own kernel where there is one: inputs and
// outputs of the host's function are copied there and back.
std::optional<HostFunction> host_for(const Node& node, const Target& target) {
  auto host = host_function_of(node.workload);
  if (!target.is_gpu()) return host;
  try {
    make_space(node.workload, target);
    return std::nullopt;
  } catch (const UserError&) {
    HONE_USER_CHECK(host) << "layer '" << node.origin << "': " << node.workload.operator_name() << " has no kernel for "
                          << target.kind;
  }
  return host;
}

Lowered lower_node(const Graph& g, const Node& node, const Target& target, const ChooseConfig& choose,
                   const SharedPackings* packings) {
  if (auto host = host_for(node, target)) return in_c(std::move(*host), target);
  const auto steps = recurrence_of(node.workload);
  const Workload& w = steps ? steps->step : node.workload;
  const Space space = make_space(w, target);
  ChosenConfig chosen = choose(w, target, space);
  return blaming(w, [&]() -> Lowered {
    if (packings) chosen = packings->follow(g, node, target, space, chosen);
    Module m = lower_config(w, target, space, chosen.config);
    Lowered made{.module = steps ? repeat(m, steps->how) : m,
                 .config = space.print(chosen.config),
                 .source = chosen.source,
                 .held_back = chosen.held_back};
    if (steps) made.step = std::move(m);
    return made;
  });
}

}  // namespace

bool is_view(const Node& n) { return is<ops::Reshape>(n); }

std::vector<db::TeamKey> lookup_keys(const Graph& g, const Target& target) {
  std::set<db::TeamKey> keys;
  for (const Node& node : g.nodes) {
    if (is_view(node) || host_for(node, target)) continue;
    const auto steps = recurrence_of(node.workload);
    keys.insert({to_string(without_extremes(steps ? steps->step : node.workload)), to_string(target)});
  }
  return {keys.begin(), keys.end()};
}

Layers make_layers(const Graph& g, const Target& target, const std::string& name, const Storage& storage,
                   const std::vector<int64_t>& alignments, const ChooseConfig& choose, const SharedPackings* packings) {
  Layers out;
  std::map<std::string, Lowered> lowered;  // by workload
  std::map<std::string, size_t> known;     // kernels by all that they depend on
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    if (storage.is_free(n)) continue;
    const std::string text = to_string(node.workload);
    auto it = lowered.find(text);
    if (it == lowered.end()) {
      it = lowered.emplace(text, lower_node(g, node, target, choose, packings)).first;
    }
    const Module& whole = it->second.module;
    std::vector<bool> is_packed(whole.params.size(), false);
    std::vector<int64_t> alignment;
    const auto alignment_of = [&](size_t p) {
      const ValueId v = p < node.inputs.size() ? node.inputs[p] : node.outputs[p - node.inputs.size()];
      return alignments[static_cast<size_t>(v)];
    };
    const PhysicalTypes types = physical_types(node.workload);
    std::vector<bool> is_weight(whole.params.size(), false);
    for (size_t p = 0; p < whole.params.size(); ++p) {
      const bool is_input = p < node.inputs.size();
      const TensorType& lies = is_input ? types.inputs[p].type : types.outputs[p - node.inputs.size()].type;
      is_weight[p] = whole.params[p].role == ParamRole::kConstant && is_input && g.is_constant(node.inputs[p]);
      is_packed[p] = is_weight[p] || lies_as(whole.params[p], lies);
      HONE_ICHECK(is_packed[p] || lies.shape == whole.params[p].shape)
          << text << ": its kernel has another layout for '" << whole.params[p].name << "'";
    }
    Module module = it->second.host   ? whole
                    : target.is_gpu() ? gpu_plain_module(whole, target, is_packed)
                                      : plain_module(whole, is_packed);
    for (const KernelArgument& a : kernel_arguments(module))
      alignment.push_back(is_weight[a.param] ? kArenaAlignment : alignment_of(a.param));
    const std::string key = fmt::format("{} {} {}", text, fmt::join(is_packed, ""), fmt::join(alignment, ":"));
    const auto [slot, is_new] = known.emplace(key, out.kernels.size());
    if (is_new)
      out.kernels.push_back(
          {.symbol = fmt::format("{}.{}", name, out.kernels.size()),
           .workload = node.workload,
           .module = std::move(module),
           .is_packed = is_packed,
           .alignment = alignment,
           .config = it->second.config,
           .source = it->second.source,
           .held_back = it->second.held_back,
           .host = it->second.host,
           .step = it->second.step ? std::optional(plain_module(*it->second.step, is_packed)) : std::nullopt});
    out.calls.push_back({.node = static_cast<int>(n), .kernel = slot->second});
  }
  return out;
}

}  // namespace hone
