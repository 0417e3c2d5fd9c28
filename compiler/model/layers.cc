#include "compiler/model/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "compiler/lower/layout_functions.h"

namespace hone {
namespace {

constexpr int64_t kArenaAlignment = 64;  // bytes, of everything that the model itself places

struct Lowered {
  Module module;
  std::string config, source;
};

}  // namespace

bool is_view(const Node& n) { return n.workload.task() == "reshape"; }

Layers make_layers(const Graph& g, const Target& target, const std::string& name, const std::vector<bool>& is_outside,
                   const ChooseConfig& choose) {
  Layers out;
  std::map<std::string, Lowered> lowered;  // by workload
  std::map<std::string, size_t> known;     // kernels by all that they depend on
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    if (is_view(node)) continue;
    const std::string text = to_string(node.workload);
    auto it = lowered.find(text);
    if (it == lowered.end()) {
      const Space space = make_space(node.workload, target);
      const ChosenConfig chosen = choose(node.workload, space);
      it = lowered
               .emplace(text, Lowered{lower_config(node.workload, target, space, chosen.config),
                                      space.print(chosen.config), chosen.source})
               .first;
    }
    const Module& whole = it->second.module;
    std::vector<bool> is_packed(whole.params.size(), false);
    std::vector<int64_t> alignment;
    const auto is_tensor = [&](size_t p) {
      const ValueId v = p < node.inputs.size() ? node.inputs[p] : node.outputs[p - node.inputs.size()];
      return is_outside[static_cast<size_t>(v)];
    };
    for (size_t p = 0; p < whole.params.size(); ++p)
      is_packed[p] =
          whole.params[p].role == ParamRole::kConstant && p < node.inputs.size() && g.is_constant(node.inputs[p]);
    Module module = plain_module(whole, is_packed);
    for (const KernelArgument& a : kernel_arguments(module))
      alignment.push_back(!is_packed[a.param] && is_tensor(a.param) ? a.dtype.bytes() : kArenaAlignment);
    const std::string key = fmt::format("{} {} {}", text, fmt::join(is_packed, ""), fmt::join(alignment, ":"));
    const auto [place, is_new] = known.emplace(key, out.kernels.size());
    if (is_new)
      out.kernels.push_back({fmt::format("{}.{}", name, out.kernels.size()), node.workload, std::move(module),
                             is_packed, alignment, it->second.config, it->second.source});
    out.calls.push_back({static_cast<int>(n), place->second});
  }
  return out;
}

}  // namespace hone
