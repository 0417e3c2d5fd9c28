#include "compiler/model/check/check_whole.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <unordered_set>

#include "compiler/graph/evaluate.h"
#include "compiler/model/check/oracle_kernels.h"
#include "compiler/model/model_data.h"
#include "compiler/model/pack/store_float.h"
#include "compiler/model/plan/layers.h"
#include "compiler/model/plan/wide_nodes.h"
#include "compiler/ops/windows/physical.h"

namespace hone {
namespace {

constexpr double kRoundings = 8, kRoom = 4;

// Ends a computation for which there is no time.
struct OutOfTime {};

// Half a unit in the last place of numbers around 1.
double rounding(DType t) { return t == f16 ? 0x1p-11 : t == bf16 ? 0x1p-8 : t == f64 ? 0x1p-53 : 0x1p-24; }

// Whether a node rounds nothing, because its elements are elements of its inputs: judged by up to 1000 of them. Maxima
// are such nodes, and models compare them with their inputs.
bool only_selects(const TensorData& out, std::span<const TensorData> inputs) {
  if (!out.type().dtype.is_float()) return true;
  const std::vector<double> values = out.values();
  std::unordered_set<double> unknown;
  const size_t step = values.size() / 1000 + 1;
  for (size_t i = 0; i < values.size(); i += step)
    if (values[i] != std::round(values[i])) unknown.insert(values[i]);
  for (const TensorData& in : inputs) {
    if (unknown.empty()) break;
    if (in.type().dtype.is_float())
      for (const double v : in.values()) unknown.erase(v);
  }
  return unknown.empty();
}

// The data as other roundings would leave it: each float that is no whole number is moved by some roundings of itself
// and of the tensor's usual size (sums round as their terms do). Whole numbers mostly are masks, sizes and zeros: kept.
TensorData nudged(const TensorData& data, uint64_t* random) {
  const DType t = data.type().dtype;
  if (!t.is_float()) return data;
  const std::vector<double> values = data.values();
  double squares = 0, count = 0;
  for (const double v : values)
    if (std::isfinite(v)) squares += v * v, ++count;
  const double usual = count > 0 ? std::sqrt(squares / count) : 0;
  // One rounding of a 16-bit float is a large change already.
  const double size = rounding(t) * (t.is_narrow_float() ? 1 : kRoundings);
  std::string bytes(data.bytes().begin(), data.bytes().end());
  for (size_t i = 0; i < values.size(); ++i) {
    *random = *random * 6364136223846793005ULL + 1442695040888963407ULL;
    const double unit = static_cast<double>(static_cast<int64_t>(*random) >> 11) * 0x1p-52;  // in [-1, 1)
    if (!std::isfinite(values[i]) || values[i] == std::round(values[i])) continue;
    store_float(bytes.data() + i * static_cast<size_t>(t.bytes()), t,
                values[i] + unit * size * (std::abs(values[i]) + usual));
  }
  return {data.type(), std::move(bytes)};
}

// Above this a comparison says nothing: a model that makes so much of its roundings, or overflows for some.
constexpr double kMostRoom = 0.25;

// Which values are tensors of the caller, perhaps moved, or unused constants: nothing was rounded to their type
// here.
std::vector<bool> passed_values(const Graph& g) {
  const Uses uses = uses_of(g);
  std::vector<bool> passed(g.values.size(), false);
  for (size_t v = 0; v < passed.size(); ++v)
    passed[v] = g.values[v].constant && uses.readers[v].empty() && !uses.is_output[v];
  for (const Port& p : g.inputs)
    if (p.value != kNoValue) passed[static_cast<size_t>(p.value)] = true;
  for (const Node& n : g.nodes)
    if (is<ops::Reshape, ops::Transpose, ops::Slice>(n) && passed[static_cast<size_t>(n.inputs[0])])
      passed[static_cast<size_t>(n.outputs[0])] = true;
  return passed;
}

// The least that is allowed.
double least_room(const Graph& g) {
  const std::vector<bool> passed = passed_values(g);
  double room = 4e-6;
  for (size_t v = 0; v < g.values.size(); ++v) {
    const DType t = g.values[v].type.dtype;
    if (t.bits < 32 && !t.is_bool() && !passed[v]) room = 1e-2;
  }
  return room;
}

std::string last_name(const std::string& origin) {
  const size_t at = origin.rfind(" + ");
  return at == std::string::npos ? origin : origin.substr(at + 3);
}

// The shape without axes of one element: reshapes in front of products add such axes.
std::vector<int64_t> proper_shape(const TensorType& t) {
  std::vector<int64_t> shape;
  for (const int64_t n : t.shape)
    if (n != 1) shape.push_back(n);
  return shape;
}

class Comparison {
 public:
  Comparison(const Graph& imported, const Target& here, const std::vector<TensorData>& inputs,
             const WholeCheckOptions& options)
      : imported_(imported),
        meaning_(imported),
        oracle_(here),
        seconds_(options.most_seconds),
        denormals_(options.denormals),
        progress_(options.progress),
        least_(least_room(imported)) {
    for (size_t i = 0; i < inputs.size(); ++i) inputs_.push_back(inputs[i].reshaped(imported.inputs.at(i).type.shape));
  }

  using Watch = std::function<void(const Node&, const std::vector<TensorData>&)>;
  std::vector<TensorData> compute(const Graph& g, bool is_nudged, const Watch& watch = {}) {
    uint64_t random = 1;
    const auto evaluate = [&](const Workload& w, std::span<const TensorData> in) {
      if (seconds_left() < 0) throw OutOfTime();
      std::vector<TensorData> out = oracle_.evaluate(w, in, is_nudged ? denormals_ : Denormals::kKeep);
      operations_ += flops(w);
      return out;
    };
    return interpret_nodes(
        g, inputs_,
        [&](size_t n, std::span<const TensorData> in) {
          tell(g, n, is_nudged);
          std::vector<TensorData> out =
              &g == &imported_ ? meaning_.evaluate(n, in, evaluate) : evaluate(g.nodes[n].workload, in);
          if (is_nudged)
            for (TensorData& t : out)
              if (!only_selects(t, in)) t = nudged(t, &random);
          return out;
        },
        watch);
  }

  // The imported graph is computed twice; the search for a wrong layer goes on from there.
  void tell(const Graph& g, size_t n, bool is_nudged) const {
    if (!progress_ || &g != &imported_) return;
    const size_t nodes = imported_.nodes.size();
    progress_({"the imported model, node by node", n + (is_nudged ? nodes : 0), 2 * nodes, seconds_left()});
  }
  double seconds_left() const {
    return seconds_ - std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  // Operations of the nodes that were computed.
  double operations() const { return operations_; }

  double room(const TensorData& as_it_is, const TensorData& otherwise) const {
    return std::max(least_, kRoom * difference(otherwise, as_it_is).frobenius);
  }

  // Computes all three graphs once more and compares layers of `g` with the imported nodes that they end with.
  std::string first_that_is_off(const Graph& g) {
    struct Known {
      TensorData value;
      double room = 0;
    };
    std::map<std::string, Known> known;  // by node
    for (const Node& n : g.nodes)
      if (!is_view(n)) known[last_name(n.origin)];
    seconds_ *= 2;  // it has failed already
    compute(imported_, false, [&](const Node& n, const std::vector<TensorData>& out) {
      if (const auto it = known.find(n.origin); it != known.end()) it->second.value = out[0];
    });
    compute(imported_, true, [&](const Node& n, const std::vector<TensorData>& out) {
      const auto it = known.find(n.origin);
      if (it != known.end() && it->second.value.type() == out[0].type())
        it->second.room = room(it->second.value, out[0]);
    });
    std::string found;
    compute(g, false, [&](const Node& n, const std::vector<TensorData>& out) {
      if (is_view(n) || !found.empty()) return;
      const Known& k = known.at(last_name(n.origin));
      const TensorData got = to_logical(out[0], physical_types(n.workload).outputs[0]);
      if (k.value.bytes().empty() || got.type().dtype != k.value.type().dtype ||
          proper_shape(got.type()) != proper_shape(k.value.type()))
        return;
      const double error = difference(got, k.value).frobenius;
      if (!(error <= k.room))
        found = fmt::format("the first layer that is off is '{}', {}: by {:.2g}, allowed {:.2g}", n.origin,
                            to_string(n.workload), error, k.room);
    });
    return found;
  }

 private:
  const Graph& imported_;
  const WideNodes meaning_;
  OracleKernels oracle_;
  std::vector<TensorData> inputs_;
  double seconds_, operations_ = 0;
  const Denormals denormals_;
  const CheckProgress progress_;
  const double least_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// `outputs` gives those of `g`. `meant`: what computes them right, for messages.
template <class Outputs>
WholeCheck compared(Comparison& compare, const Graph& imported, const Graph& g, const Outputs& outputs_of,
                    const char* meant, const WholeCheckOptions& options) {
  WholeCheck check;
  try {
    const std::vector<TensorData> outputs = outputs_of();
    const std::vector<TensorData> wanted = compare.compute(imported, false),
                                  otherwise = compare.compute(imported, true);
    for (size_t o = 0; o < outputs.size() && check.wrong.empty(); ++o) {
      const double error = difference(outputs[o], wanted[o]).frobenius, allowed = compare.room(wanted[o], otherwise[o]);
      if (!(allowed <= kMostRoom)) {
        check.left_out = fmt::format("its own roundings change output '{}' by {:.2g} of its norm",
                                     imported.outputs[o].name, allowed / kRoom);
        return check;
      }
      if (error >= check.error) check.error = error, check.allowed = allowed;
      if (error <= allowed) continue;
      check.wrong = fmt::format("output '{}' is not what the {} computes: off by {:.2g} of its norm, allowed {:.2g}",
                                imported.outputs[o].name, meant, error, allowed);
    }
  } catch (const OutOfTime&) {
    check.is_out_of_time = true;
    double operations = 0;
    for (const Node& n : imported.nodes) operations += 2 * flops(n.workload);
    check.left_out = fmt::format("{:.0f} % of what computing it takes was done in {:.3g} s",
                                 operations > 0 ? 100 * compare.operations() / operations : 0, options.most_seconds);
    return check;
  }
  if (check.wrong.empty()) return check;
  try {
    if (const std::string first = compare.first_that_is_off(g); !first.empty()) check.wrong += "; " + first;
  } catch (const OutOfTime&) {
    check.wrong += "; there was no time to find the layer";
  }
  return check;
}

}  // namespace

WholeCheck check_whole(const Graph& imported, const Graph& g, const Target& here, const std::vector<TensorData>& inputs,
                       const std::vector<TensorData>& outputs, const WholeCheckOptions& options) {
  Comparison compare(imported, here, inputs, options);
  return compared(
      compare, imported, g, [&] { return outputs; }, "imported model", options);
}

WholeCheck check_rewritten(const Graph& before, const Graph& after, const Target& here,
                           const std::vector<TensorData>& inputs, const WholeCheckOptions& options) {
  Comparison compare(before, here, inputs, options);
  return compared(
      compare, before, after, [&] { return compare.compute(after, false); }, "graph before it", options);
}

}  // namespace hone
