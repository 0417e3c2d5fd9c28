#include "compiler/cli/model_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstring>
#include <random>
#include <set>

#include "base/time_text.h"
#include "compiler/graph/evaluate.h"
#include "compiler/host/measure_here.h"
#include "compiler/ops/movement.h"

namespace hone {
namespace {

const Node& node_of(const Graph& g, const Layer& call) { return g.nodes[static_cast<size_t>(call.node)]; }

std::string source_word(const Kernel& k) { return k.source.substr(0, k.source.find(' ')); }

// `conv2d in NCHW16c`
std::string described(const Node& n) {
  const Attributes& a = n.workload.attributes;
  return a.has("layout") ? fmt::format("{} in {}", n.workload.task(), a.text("layout")) : n.workload.task();
}

// Who computes a value, and who reads it, views aside.
class Neighbours {
 public:
  explicit Neighbours(const Graph& g) : g_(g), uses_(uses_of(g)) {}

  std::string before(ValueId v) const {
    for (;;) {
      const int n = uses_.producer[static_cast<size_t>(v)];
      if (n < 0) return g_.is_constant(v) ? "a constant" : "the model's input";
      const Node& node = g_.nodes[static_cast<size_t>(n)];
      if (!is_view(node)) return described(node);
      v = node.inputs[0];
    }
  }
  std::set<std::string> behind(ValueId v) const {
    std::set<std::string> out;
    if (uses_.is_output[static_cast<size_t>(v)]) out.insert("the model's output");
    for (const int n : uses_.readers[static_cast<size_t>(v)]) {
      const Node& node = g_.nodes[static_cast<size_t>(n)];
      if (is_view(node))
        out.merge(behind(node.outputs[0]));
      else
        out.insert(described(node));
    }
    return out;
  }

 private:
  const Graph& g_;
  const Uses uses_;
};

// Why a layer that multiplies nothing is there; empty for others.
std::string why_alone(size_t n, const Node& node, const Storage& storage, const Neighbours& neighbours,
                      const FusionNotes& notes) {
  if (!storage.why_copied(n).empty()) return storage.why_copied(n);
  if (node.workload.task() == "transpose")
    return fmt::format("{} gives another order of elements than {} reads", neighbours.before(node.inputs[0]),
                       fmt::join(neighbours.behind(node.outputs[0]), ", "));
  const std::string& task = node.workload.task();
  return task == "elementwise" || task == "softmax" ? notes.of(node.origin) : "";
}

// Why a convolution or pooling, or the product that one became, is in that layout; conversions around it have its name.
std::string why_in_layout(const Node& node, const FusionNotes& notes) {
  const bool is_it = node.workload.attributes.has("layout") || node.workload.task() == "batch_matmul";
  return is_it ? notes.layout_of(node.origin) : "";
}

// A function in C on random elements: how long it takes depends on them. A single bool is a condition that holds:
// without it `require` has no result.
double host_seconds(const HostFunction& f) {
  std::mt19937 random(1);
  std::vector<TensorData> inputs;
  for (const TensorType& t : f.inputs) {
    std::string bytes(static_cast<size_t>(bytes_of(t)), '\0');
    for (int64_t i = 0; i < element_count(t.shape); ++i) {
      const float number = static_cast<float>(random() % 1024) / 1024;
      if (t.dtype == f32) std::memcpy(&bytes[static_cast<size_t>(i) * sizeof(number)], &number, sizeof(number));
      if (t.dtype.is_bool()) bytes[static_cast<size_t>(i)] = bytes.size() == 1 || random() % 2 ? '\1' : '\0';
    }
    inputs.emplace_back(t, std::move(bytes));
  }
  double best = 1e30;
  for (int turn = 0; turn < 5; ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    call_host_function(f, inputs);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

std::vector<LayerNotes> layer_notes(const Graph& g, const Layers& layers, const FusionNotes& notes, bool is_gpu) {
  const Storage storage(g, nullptr, is_gpu ? kGpuAlignment : 1);
  const Neighbours neighbours(g);
  std::vector<LayerNotes> out;
  for (const Layer& call : layers.calls) {
    const Node& node = node_of(g, call);
    out.push_back(
        {why_alone(static_cast<size_t>(call.node), node, storage, neighbours, notes), why_in_layout(node, notes)});
  }
  return out;
}

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

StatusOr<std::vector<double>> kernel_seconds(const Layers& layers, const Target& target, Device* gpu,
                                             Denormals denormals) {
  std::vector<double> seconds;
  for (const Kernel& k : layers.kernels) {
    if (k.host) {
      seconds.push_back(host_seconds(*k.host));
      continue;
    }
    HONE_ASSIGN_OR_RETURN(const HereTime t, time_here(target, k.module, gpu, denormals, 3, 2));
    seconds.push_back(t.seconds);
  }
  return seconds;
}

bool changes_layout(std::string_view workload) { return workload.starts_with("transpose("); }

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

}  // namespace hone
