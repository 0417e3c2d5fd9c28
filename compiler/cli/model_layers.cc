#include "compiler/cli/model_layers.h"

#include <fmt/format.h>

#include "compiler/host/measure_here.h"

namespace hone {
namespace {

const Node& node_of(const Graph& g, const Layer& call) { return g.nodes[static_cast<size_t>(call.node)]; }

std::string source_word(const Kernel& k) { return k.source.substr(0, k.source.find(' ')); }

}  // namespace

std::string layers_text(const Graph& g, const Layers& layers) {
  std::string out;
  for (size_t c = 0; c < layers.calls.size(); ++c) {
    const Kernel& k = layers.kernels[layers.calls[c].kernel];
    out += fmt::format("{:4} {}\n     {}\n     config: {}\n", c, node_of(g, layers.calls[c]).origin,
                       to_string(k.workload), k.source);
  }
  return out;
}

StatusOr<std::string> profile_text(const Graph& g, const Layers& layers, const Target& target) {
  std::vector<double> seconds;
  for (const Kernel& k : layers.kernels) {
    HONE_ASSIGN_OR_RETURN(const HereTime t, time_here(target, k.module, nullptr, 3, 2));
    seconds.push_back(t.seconds);
  }
  double all = 0;
  for (const Layer& call : layers.calls) all += seconds[call.kernel];
  std::string out = fmt::format("{:>4} {:>10} {:>6} {:>8}  {:8} layer\n", "", "ms", "share", "GFLOPS", "config");
  for (size_t c = 0; c < layers.calls.size(); ++c) {
    const Kernel& k = layers.kernels[layers.calls[c].kernel];
    const double s = seconds[layers.calls[c].kernel];
    out += fmt::format("{:4} {:10.4f} {:5.1f}% {:8.1f}  {:8} {}  {}\n", c, s * 1e3, 100 * s / all,
                       flops(k.workload) / s * 1e-9, source_word(k), node_of(g, layers.calls[c]).origin,
                       to_string(k.workload));
  }
  return out + fmt::format("     {:10.4f} ms in all\n", all * 1e3);
}

}  // namespace hone
