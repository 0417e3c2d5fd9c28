#include "compiler/driver/model_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstring>
#include <random>
#include <set>

#include "base/time_text.h"
#include "compiler/graph/evaluate.h"
#include "compiler/host/measure_here.h"
#include "compiler/ops/movement/movement.h"

namespace hone {
namespace {

const Node& node_of(const Graph& g, const Layer& call) { return g.nodes[call.node]; }

// `conv2d in NCHW16c`
std::string described(const Node& n) {
  const Attributes& a = n.workload.attributes;
  return a.has("layout") ? fmt::format("{} in {}", n.workload.operator_name(), a.text("layout"))
                         : n.workload.operator_name();
}

// Who computes a value, and who reads it, views aside.
class Neighbours {
 public:
  explicit Neighbours(const Graph& g) : g_(g), uses_(uses_of(g)) {}

  std::string before(ValueId v) const {
    for (;;) {
      const int n = uses_.producer[v];
      if (n < 0) return g_.is_constant(v) ? "a constant" : "the model's input";
      const Node& node = g_.nodes[n];
      if (!is_view(node)) return described(node);
      v = node.inputs[0];
    }
  }
  std::set<std::string> behind(ValueId v) const {
    std::set<std::string> out;
    if (uses_.is_output[v]) out.insert("the model's output");
    for (const int n : uses_.readers[v]) {
      const Node& node = g_.nodes[n];
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
  if (is<ops::Transpose>(node))
    return fmt::format("{} gives another order of elements than {} reads", neighbours.before(node.inputs[0]),
                       fmt::join(neighbours.behind(node.outputs[0]), ", "));
  return is<ops::Elementwise, ops::Softmax>(node) ? notes.of(node.origin) : "";
}

// Why a convolution or pooling, or the product that one became, is in that layout; conversions around it have its name.
std::string why_in_layout(const Node& node, const FusionNotes& notes) {
  const bool is_it = node.workload.attributes.has("layout") || is<ops::BatchMatmul>(node);
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

}  // namespace hone
