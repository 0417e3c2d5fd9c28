#include "compiler/cli/result_text.h"

#include <fmt/format.h>

#include "base/time_text.h"
#include "compiler/driver/model_layers.h"
#include "compiler/ops/movement/movement.h"

namespace hone {
namespace {

const Node& node_of(const Graph& g, const Layer& call) { return g.nodes[static_cast<size_t>(call.node)]; }

std::string source_word(const Kernel& k) { return k.source.substr(0, k.source.find(' ')); }

}  // namespace

std::string layers_text(const Graph& g, const Layers& layers, const FusionNotes& notes, bool is_gpu) {
  const std::vector<LayerNotes> why = layer_notes(g, layers, notes, is_gpu);
  std::string out;
  for (size_t c = 0; c < layers.calls.size(); ++c) {
    const Kernel& k = layers.kernels[layers.calls[c].kernel];
    const Node& node = node_of(g, layers.calls[c]);
    out += fmt::format("{:4} {}\n     {}\n     config: {}\n", c, node.origin, to_string(k.workload),
                       k.host ? "none: a function in C, on one thread" : k.source);
    if (k.host && is_gpu)
      out += fmt::format("     on the host: {} bytes are copied there, {} back\n", bytes_of_all(k.host->inputs),
                         bytes_of_all(k.host->outputs));
    if (const Layer& call = layers.calls[c]; call.region == 0 && !call.is_divided)
      out += "     on one thread\n";
    else if (call.region > 0)
      out += fmt::format("     shares region {}{}\n", call.region,
                         call.shares.size() == 1 ? fmt::format(", on thread {} alone", call.shares[0].thread) : "");
    if (!why[c].alone.empty()) out += fmt::format("     by itself: {}\n", why[c].alone);
    if (!why[c].layout.empty()) out += fmt::format("     layout: {}\n", why[c].layout);
  }
  return out;
}

std::string rate_text(const Workload& w, double seconds) {
  return seconds > 0 && !only_moves(w) ? fmt::format("{:.1f}", flops(w) / seconds * 1e-9) : "-";
}

std::string sums_text(double all, double layouts, int changes) {
  std::string out;
  if (changes > 0)
    out = fmt::format("     {:>10} {:5.1f}% in {} change{} of layout (transposes)\n", ms_text(layouts),
                      100 * layouts / all, changes, changes == 1 ? "" : "s");
  return out + fmt::format("     {:>10} ms in all\n", ms_text(all));
}

std::string profile_text(const Graph& g, const Layers& layers, const std::vector<double>& seconds) {
  double all = 0, layouts = 0;
  int changes = 0;
  for (const Layer& call : layers.calls) {
    all += seconds[call.kernel];
    if (!changes_layout(to_string(layers.kernels[call.kernel].workload))) continue;
    layouts += seconds[call.kernel];
    ++changes;
  }
  std::string out = fmt::format("{:>4} {:>10} {:>6} {:>8}  {:8} layer\n", "", "ms", "share", "GFLOPS", "config");
  for (size_t c = 0; c < layers.calls.size(); ++c) {
    const Kernel& k = layers.kernels[layers.calls[c].kernel];
    const double s = seconds[layers.calls[c].kernel];
    out +=
        fmt::format("{:4} {:>10} {:5.1f}% {:>8}  {:8} {}  {}\n", c, ms_text(s), 100 * s / all, rate_text(k.workload, s),
                    source_word(k), node_of(g, layers.calls[c]).origin, to_string(k.workload));
  }
  return out + sums_text(all, layouts, changes);
}

std::string quantization_text(const QuantizationReport& report) {
  const auto error = [](const std::optional<double>& e) { return e ? fmt::format("{:.2g}", *e) : "-"; };
  const auto time = [](const std::optional<double>& s) { return s ? ms_text(*s) : "-"; };
  std::string out = fmt::format("{:>9} {:>9} {:>9}  quantised layer\n", "error", "f32 ms", "int8 ms");
  for (const QuantizedLayer& l : report.layers)
    out += fmt::format("{:>9} {:>9} {:>9}  {}{}\n", error(l.error), time(l.seconds_f32), time(l.seconds), l.name,
                       l.is_slower() ? "  slower" + (l.why_slower.empty() ? "" : ": " + l.why_slower) : "");
  for (const auto& [name, off] : report.outputs)
    out += fmt::format("output '{}' is off by {:.2g} of its norm\n", name, off);
  if (report.tops > 0)
    out += fmt::format("the largest element of '{}' is at the same place in {} of {} rows\n", report.outputs[0].first,
                       report.equal_tops, report.tops);
  return out;
}

std::string run_text(const VariantFigures& figures, std::string_view prefix) {
  std::string out;
  for (const OutputDifference& o : figures.outputs)
    out += o.type.empty() ? fmt::format("{}output {}: largest difference {:.2g} of the largest value, {:.2g} in all\n",
                                        prefix, o.name, o.largest, o.in_all)
                          : fmt::format("{}output {}: {} instead of {}\n", prefix, o.name, o.type, o.wanted_type);
  for (const std::string& line : figures.labels) out += fmt::format("{}{}\n", prefix, line);
  if (figures.median_seconds)
    out += fmt::format("{}{} ms (median of {}, fastest {})\n", prefix, ms_text(*figures.median_seconds), figures.times,
                       ms_text(*figures.fastest_seconds));
  return out;
}

}  // namespace hone
