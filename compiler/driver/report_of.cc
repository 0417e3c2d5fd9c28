#include "compiler/driver/report_of.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "compiler/build/config_words.h"
#include "compiler/driver/model_layers.h"
#include "compiler/host/arithmetic_peak.h"
#include "compiler/ops/movement/movement.h"

namespace hone {
namespace {

const Node& called(const Graph& g, const Layer& call) { return g.nodes[call.node]; }

double argument_bytes(const Module& m) {
  double bytes = 0;
  for (const KernelArgument& a : kernel_arguments(m)) bytes += static_cast<double>(a.bytes());
  return bytes;
}

// At least so long arithmetic or memory takes.
double roof_seconds(const MachineRoof& roof, double peak_gflops, double operations, double bytes, double workspace) {
  const double bandwidth = roof.level_of(bytes + workspace).gb_per_second;
  return std::max(operations / peak_gflops, bytes / bandwidth) * 1e-9;
}

std::string threads_text(const Layer& call, int threads) {
  if (call.region == 0) return call.is_divided && threads > 1 ? "all" : "one";
  const std::string region = fmt::format("region {}", call.region);
  return call.shares.size() == 1 ? fmt::format("{}, thread {}", region, call.shares[0].thread) : region;
}

std::vector<ReportLayer> layers_of(const ReportedVariant& v) {
  const Layers& layers = v.built.layers;
  const std::vector<LayerNotes> notes = layer_notes(v.graph, layers, v.notes, v.target.is_gpu());
  std::vector<ReportLayer> out;
  for (size_t c = 0; c < layers.calls.size(); ++c) {
    const Layer& call = layers.calls[c];
    const Kernel& k = layers.kernels[call.kernel];
    const Node& n = called(v.graph, call);
    ReportLayer l;
    l.nodes = n.origin;
    l.workload = to_string(k.workload);
    l.config = config_words(k.workload, v.target, k.config).all;
    l.source = k.source;
    l.kernel = k.symbol;
    l.threads = threads_text(call, v.target.threads);
    if (call.in_place) l.in_place = v.graph.value(n.inputs[*call.in_place]).name;
    l.alone = notes[c].alone;
    if (k.host && v.target.is_gpu())
      l.alone = fmt::format("it runs on the host, between the device's layers: {} bytes are copied there, {} back",
                            bytes_of_all(k.host->inputs), bytes_of_all(k.host->outputs));
    l.layout = notes[c].layout;
    l.operations = only_moves(k.workload) ? 0 : flops(k.workload);
    l.bytes = argument_bytes(k.module);
    if (!v.figures.kernel_seconds.empty()) l.seconds = v.figures.kernel_seconds[call.kernel];
    if (v.roof)
      l.roof_seconds = roof_seconds(*v.roof, arithmetic_peak(*v.roof, k.workload, v.target), l.operations, l.bytes,
                                    static_cast<double>(k.module.workspace_bytes));
    if (!v.figures.errors.empty()) l.error = v.figures.errors[c];
    out.push_back(std::move(l));
  }
  return out;
}

// Layers that share a region happen at one time, which the plan counts as the step of the first one.
int last_step(const std::vector<Layer>& calls, int last) {
  auto c = static_cast<size_t>(last);
  if (c >= calls.size() || calls[c].region == 0) return last;
  while (c + 1 < calls.size() && calls[c + 1].region == calls[c].region) ++c;
  return static_cast<int>(c);
}

std::vector<ReportBuffer> buffers_of(const ReportedVariant& v) {
  std::vector<ReportBuffer> out;
  const std::vector<Layer>& calls = v.built.layers.calls;
  for (const PlannedBuffer& b : v.built.buffers) {
    std::vector<std::string> names;
    for (const ValueId id : b.values) names.push_back(v.graph.value(id).name);
    const bool is_workspace = names.empty();
    out.push_back({is_workspace ? "workspace of " + called(v.graph, calls[b.call]).origin
                                : fmt::format("{}", fmt::join(names, ", then ")),
                   is_workspace, b.offset, b.needed.bytes, b.needed.first, last_step(calls, b.needed.last)});
  }
  return out;
}

std::vector<ReportFree> free_of(const ReportedVariant& v) {
  std::set<int> calls;
  for (const Layer& call : v.built.layers.calls) calls.insert(call.node);
  std::vector<ReportFree> out;
  for (size_t n = 0; n < v.graph.nodes.size(); ++n)
    if (!calls.contains(static_cast<int>(n)))
      out.push_back({v.graph.nodes[n].origin, to_string(v.graph.nodes[n].workload)});
  return out;
}

}  // namespace

ReportVariant report_of(const ReportedVariant& v) {
  ReportVariant r;
  r.name = v.built.name;
  r.threads = v.target.threads;
  r.arena_bytes = v.built.memory.bytes;
  r.arena_bound = v.built.memory.bound;
  r.median_seconds = v.figures.median_seconds;
  r.fastest_seconds = v.figures.fastest_seconds;
  r.check = v.figures.check;
  for (size_t i = 0; i < caller_inputs(v.graph, v.growth); ++i)
    r.inputs.push_back({v.graph.inputs[i].name, to_string(v.graph.inputs[i].type)});
  for (const Port& p : v.graph.outputs) r.outputs.push_back({p.name, to_string(p.type)});
  r.layers = layers_of(v);
  r.buffers = buffers_of(v);
  r.free = free_of(v);
  r.passes = v.passes;
  return r;
}

}  // namespace hone
