#include "compiler/model/check/check_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "compiler/host/denormal_scope.h"
#include "compiler/host/local_kernel.h"
#include "compiler/model/check/checked_layer.h"
#include "compiler/model/check/naive_kernels.h"
#include "compiler/model/weights.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/recurrence.h"

namespace hone {
namespace {

// Multiply-adds that a layer's reference may take for each output, of its share of the time: on the model's inputs and
// on four adversarial ones, and as much again for all else. References do some 10^8 a second on a thread.
double reference_budget(double share_of_seconds, int threads) {
  constexpr double kLeast = 2e7, kMost = 1e9, kPerSecond = 1e8;
  return std::clamp(share_of_seconds / 10 * kPerSecond * threads, kLeast, kMost);
}

// The second part of a layer's check: to compare it on adversarial inputs.
struct Stress {
  std::string name;  // the begin of a message
  Node node;         // as its kernel computes it: of several steps, one
  size_t call = 0;
  std::vector<TensorData> in;  // on which it was right
  double seconds = 0;          // that comparing it took there
  size_t rounds = 0, left_out = 0;
};

class LayersCheck {
 public:
  LayersCheck(const Graph& g, const Layers& layers, const Target& target, const LayerCheckOptions& options)
      : g_(g),
        layers_(layers),
        weights_(pack_weights(g, layers)),
        target_(target),
        naive_(target),
        seconds_(options.seconds),
        clock_(options.clock ? *options.clock : steady_clock_),
        begin_(clock_.now()),
        denormals_(options.denormals),
        progress_(options.progress),
        values_(g.values.size()) {
    for (size_t c = 0; c < layers.calls.size(); ++c) call_of_[layers.calls[c].node] = c;
  }

  LayerCheck run(const std::vector<TensorData>& inputs) {
    check_.errors.resize(layers_.calls.size());
    for (size_t v = 0; v < g_.values.size(); ++v) values_[v] = g_.values[v].constant;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (const ValueId v = g_.inputs[i].value; v != kNoValue)
        values_[static_cast<size_t>(v)] = inputs[i].reshaped(g_.value(v).type.shape);
    for (size_t n = 0; n < g_.nodes.size() && check_.wrong.empty(); ++n) visit(n);
    if (check_.wrong.empty()) stress_layers();
    if (!check_.wrong.empty()) return std::move(check_);
    for (const Port& p : g_.outputs)
      check_.outputs.push_back(p.value == kNoValue ? TensorData(p.type, std::string())
                                                   : values_[static_cast<size_t>(p.value)]->reshaped(p.type.shape));
    return std::move(check_);
  }

 private:
  void visit(size_t n) {
    const Node& node = g_.nodes[n];
    if (progress_ && call_of_.contains(static_cast<int>(n)))
      progress_({"layers on the model's inputs", call_of_.at(static_cast<int>(n)), layers_.calls.size()});
    std::vector<TensorData> in, out;
    for (const ValueId v : node.inputs) in.push_back(*values_[static_cast<size_t>(v)]);
    if (is_view(node)) {
      out.push_back(in[0].reshaped(g_.value(node.outputs[0]).type.shape));
    } else if (!call_of_.contains(static_cast<int>(n))) {
      out = evaluate(node.workload, in);
    } else if (const auto& host = layers_.kernels[layers_.calls[call_of_.at(static_cast<int>(n))].kernel].host) {
      out = call_host(*host, in);
      if (node.workload.op->define) check_host(node, in, out);
    } else {
      const size_t call = call_of_.at(static_cast<int>(n));
      const auto steps = recurrence_of(node.workload);
      const std::string wrong = steps ? check_steps(*steps, node, call, in, &out) : check(node, call, in, &out);
      if (!wrong.empty()) check_.wrong = name_of(node) + wrong;
    }
    for (size_t o = 0; o < out.size(); ++o) values_[static_cast<size_t>(node.outputs[o])] = std::move(out[o]);
  }

  static std::string name_of(const Node& node) {
    return fmt::format("layer '{}', {}: ", node.origin, to_string(node.workload));
  }

  CheckedLayer& layer_of(const Node& node, size_t call) {
    const size_t kernel = layers_.calls[call].kernel;
    const Kernel& k = layers_.kernels[kernel];
    auto& layer = loaded_[kernel];
    if (!layer)
      layer = std::make_unique<CheckedLayer>(
          node.workload, k.step ? *k.step : k.module, k.is_packed, target_,
          reference_budget(seconds_ / static_cast<double>(layers_.calls.size()), target_.threads), denormals_);
    return *layer;
  }

  std::string check(const Node& node, size_t call, const std::vector<TensorData>& in, std::vector<TensorData>* out) {
    std::string wrong = on_real_inputs(layer_of(node, call), node, call, in, out);
    ++check_.checked;
    stresses_.push_back({name_of(node), node, call, in, seconds_of_last_});
    return wrong;
  }

  // Each step by itself, on the results of the step before, some of them against the reference; then all of them by the
  // layer's own kernel, which computes the same.
  std::string check_steps(const Recurrence& steps, const Node& node, size_t call, const std::vector<TensorData>& in,
                          std::vector<TensorData>* out) {
    constexpr int64_t kMostCompared = 16;
    const Repetition& how = steps.how;
    const PhysicalTypes types = physical_types(node.workload);
    Node one = node;
    one.workload = steps.step;
    CheckedLayer& layer = layer_of(one, call);
    std::vector<std::string> expected;
    for (const auto& t : types.outputs) expected.emplace_back(static_cast<size_t>(bytes_of(t.type)), '\0');
    std::vector<TensorData> now = in, made;
    std::string wrong;
    for (int64_t s = 0; s < how.count && wrong.empty(); ++s) {
      const int64_t part = how.is_backwards ? how.count - 1 - s : s;
      for (size_t i = 0; i < in.size(); ++i)
        if (how.params[i].kind == RepeatedParam::Kind::kPart)
          now[i] = part_of(in[i], part, how.count);
        else if (how.params[i].kind == RepeatedParam::Kind::kState && s > 0)
          now[i] = made[how.params[i].next - in.size()].reshaped(in[i].type().shape);
      made.clear();
      if (s % ceil_div(how.count, kMostCompared) == 0 || s + 1 == how.count)
        wrong = on_real_inputs(layer, one, call, now, &made);
      else
        made = on_kernel_alone(layer, call, now, &wrong);
      for (size_t o = 0; o < made.size(); ++o) {
        const auto bytes = made[o].bytes();
        const bool is_part = how.params[in.size() + o].kind == RepeatedParam::Kind::kPart;
        std::copy(
            bytes.begin(), bytes.end(),
            expected[o].begin() + static_cast<std::ptrdiff_t>(is_part ? static_cast<size_t>(part) * bytes.size() : 0));
      }
    }
    ++check_.checked;
    stresses_.push_back({name_of(node) + "a step: ", one, call, now, seconds_of_last_});
    if (!wrong.empty()) return "a step: " + wrong;
    return compare_all_steps(types, call, in, expected, out);
  }

  static TensorData part_of(const TensorData& whole, int64_t part, int64_t parts) {
    TensorType t = whole.type();
    t.shape[0] /= parts;
    const auto bytes = whole.bytes().subspan(static_cast<size_t>(part * bytes_of(t)), static_cast<size_t>(bytes_of(t)));
    return {t, std::string(bytes.begin(), bytes.end())};
  }

  std::vector<TensorData> on_kernel_alone(CheckedLayer& layer, size_t call, const std::vector<TensorData>& in,
                                          std::string* wrong) {
    set_real_inputs(layer, call, in);
    std::vector<TensorData> out;
    const Computed got = layer.run_kernel(wrong);
    for (size_t o = 0; o < got.size(); ++o) out.push_back(layer.output(o, got[o]));
    return out;
  }

  // The layer's kernel must give its steps' results, up to roundings that a compiler may place otherwise in a loop.
  std::string compare_all_steps(const PhysicalTypes& types, size_t call, const std::vector<TensorData>& in,
                                const std::vector<std::string>& expected, std::vector<TensorData>* out) {
    constexpr double kAllowed = 1e-3;  // of the largest element; a step on the wrong part or state is off by much more
    const Kernel& kernel = layers_.kernels[layers_.calls[call].kernel];
    LocalKernel all(kernel.module, target_, {}, denormals_);
    for (size_t i = 0; i < in.size(); ++i) {
      const std::vector<const char*> packed = packed_for(call, i);
      for (size_t k = 0; k < packed.size(); ++k) {
        HostTensor& t = all.physical(i, k);
        std::memcpy(t.data(), packed[k], static_cast<size_t>(t.bytes()));
      }
      if (packed.empty()) all.set_input(i, in[i].bytes().data());
    }
    if (const Status ran = status_of(all.run()); !ran.ok()) return message_of(ran);
    for (size_t o = 0; o < expected.size(); ++o) {
      const std::vector<char> got = all.get_output(in.size() + o);
      out->emplace_back(types.outputs[o].type, std::string(got.begin(), got.end()));
      if (std::equal(got.begin(), got.end(), expected[o].begin())) continue;
      const std::vector<double> a = out->back().values(), b = TensorData(types.outputs[o].type, expected[o]).values();
      double off = 0, largest = 0;
      for (size_t e = 0; e < a.size(); ++e) {
        if (std::isfinite(a[e]) != std::isfinite(b[e])) off = INFINITY;
        if (std::isfinite(a[e]) && std::isfinite(b[e])) off = std::max(off, std::abs(a[e] - b[e]));
        if (std::isfinite(b[e])) largest = std::max(largest, std::abs(b[e]));
      }
      if (off > kAllowed * largest) return fmt::format("its output {} is not what its steps give one by one", o);
    }
    return "";
  }

  std::vector<TensorData> call_host(const HostFunction& host, const std::vector<TensorData>& in) const {
    const DenormalScope scope(denormals_);
    return call_host_function(host, in);
  }

  // A function in C that has a definition, too, must give the same bits.
  void check_host(const Node& node, const std::vector<TensorData>& in, const std::vector<TensorData>& out) {
    ++check_.checked;
    const std::vector<TensorData> expected = naive_.evaluate(node.workload, in, denormals_);
    for (size_t o = 0; o < out.size(); ++o) {
      check_.compared += out[o].elements();
      check_.elements += out[o].elements();
      if (!std::equal(out[o].bytes().begin(), out[o].bytes().end(), expected[o].bytes().begin()))
        check_.wrong = name_of(node) + "the function in C and the definition differ";
    }
  }

  void set_real_inputs(CheckedLayer& layer, size_t call, const std::vector<TensorData>& in) const {
    for (size_t i = 0; i < in.size(); ++i) layer.set_input(i, in[i], packed_for(call, i));
  }

  // Where the model has packed the constant that an input is; none where the kernel takes it as it is.
  std::vector<const char*> packed_for(size_t call, size_t input) const {
    std::vector<const char*> packed;
    if (layers_.kernels[layers_.calls[call].kernel].is_packed[input])
      for (const int64_t offset : weights_.offsets[call][input]) packed.push_back(weights_.bytes.data() + offset);
    return packed;
  }

  std::string on_real_inputs(CheckedLayer& layer, const Node& node, size_t call, const std::vector<TensorData>& in,
                             std::vector<TensorData>* out) {
    const Clock::TimePoint begin = clock_.now();
    set_real_inputs(layer, call, in);
    std::string wrong;
    const Computed got = layer.run(&wrong);
    seconds_of_last_ = seconds_since(begin);
    for (size_t o = 0; o < got.size() && wrong.empty(); ++o) {
      const CheckResult result = layer.compare(o, got[o].data(), std::nullopt);
      check_.compared += layer.samples(o);
      check_.elements += layer.elements(o);
      check_.rel_error = std::max(check_.rel_error, result.rel_error);
      check_.errors[call] = std::max(check_.errors[call].value_or(0), result.rel_error);
      out->push_back(layer.output(o, got[o]));
      if (!result.ok && !is_as_good_as_naive(layer, node, in, o, result, out->back())) wrong = result.message;
    }
    return wrong;
  }

  // The norm of all errors is bounded as if roundings were independent. Where they are not (terms that alternate
  // between two numbers, constant weights on constant numbers), the naive program shows the error to expect; each
  // element is within its own tolerance. And elements that overflow on the way have no reference, which computes in
  // f64: they are to overflow in the naive program, too.
  bool is_as_good_as_naive(const CheckedLayer& layer, const Node& node, const std::vector<TensorData>& in, size_t o,
                           const CheckResult& result, const TensorData& got) {
    constexpr double kOrders = 4;  // orders of summation differ by so much
    const TensorData naive = layer.logical_output(o, naive_.evaluate(node.workload, in, denormals_)[o]);
    const CheckResult of_naive = layer.compare(o, naive.bytes().data(), std::nullopt);
    if (result.max_error <= 1 && of_naive.max_error <= 1) return result.rel_error <= kOrders * of_naive.rel_error;
    return !of_naive.ok && overflows_alike(layer, o, layer.logical_output(o, got), naive.values());
  }

  // Whether some elements of `naive` are no finite numbers, those of `got` are none either, and all others are as the
  // reference says.
  static bool overflows_alike(const CheckedLayer& layer, size_t o, const TensorData& got,
                              const std::vector<double>& naive) {
    const std::vector<double> values = got.values();
    std::vector<bool> is_finite;
    for (size_t e = 0; e < naive.size(); ++e) {
      is_finite.push_back(std::isfinite(naive[e]));
      if (!is_finite[e] && std::isfinite(values[e])) return false;
    }
    return std::ranges::find(is_finite, false) != is_finite.end() &&
           layer.compare_only(o, got.bytes().data(), is_finite).ok;
  }

  // As many kinds as there is time for, one for every layer before any gets another; each begins with another one.
  void stress_layers() {
    std::ranges::stable_sort(stresses_, {}, &Stress::seconds);
    constexpr size_t kKinds = std::size(kAdversaries);
    for (size_t k = 0; k < kKinds; ++k)
      for (size_t i = 0; i < stresses_.size() && check_.wrong.empty(); ++i) {
        if (progress_)
          progress_({"layers on adversarial inputs", k * stresses_.size() + i, kKinds * stresses_.size(),
                     seconds_ - seconds_since(begin_)});
        stress(stresses_[i], kAdversaries[(i + k) % kKinds]);
      }
    for (const Stress& s : stresses_) {
      check_.stressed += s.rounds > 0 ? 1 : 0;
      check_.stress_left_out += s.rounds == 0 && s.left_out > 0 ? 1 : 0;
      check_.rounds += s.rounds;
      check_.rounds_left_out += s.left_out;
    }
  }

  double seconds_since(Clock::TimePoint begin) const {
    return std::chrono::duration<double>(clock_.now() - begin).count();
  }

  void stress(Stress& s, Adversary kind) {
    if (!takes(s.node, kind)) return;
    if (seconds_since(begin_) + s.seconds >= seconds_) {
      ++s.left_out;
      return;
    }
    CheckedLayer& layer = *loaded_.at(layers_.calls[s.call].kernel);
    const PhysicalTypes types = physical_types(s.node.workload);
    std::vector<TensorData> in = s.in;
    for (size_t i = 0; i < in.size(); ++i) {
      if (!replaces(s.node, i, kind)) {
        layer.set_input(i, in[i], packed_for(s.call, i));
        continue;
      }
      // Elements that only pad blocks of channels stay zero.
      const TensorType& t = types.inputs[i].logical;
      std::string bytes(static_cast<size_t>(bytes_of(t)), '\0');
      fill_adversarial(bytes.data(), t.dtype, element_count(t.shape), kind, i + 1);
      in[i] = to_physical({t, std::move(bytes)}, types.inputs[i]);
      layer.set_input(i, in[i]);
    }
    const std::string wrong = round(layer, s.node, kind, in, &s.rounds);
    if (!wrong.empty()) check_.wrong = s.name + wrong;
  }

  // Whether there are such numbers for an input, and it is computed.
  bool replaces(const Node& node, size_t input, Adversary kind) const {
    const ValueId v = node.inputs[input];
    return !g_.is_constant(v) && fill_adversarial(nullptr, g_.value(v).type.dtype, 0, kind, 1);
  }
  bool takes(const Node& node, Adversary kind) const {
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (replaces(node, i, kind)) return true;
    return false;
  }

  std::string round(CheckedLayer& layer, const Node& node, Adversary kind, const std::vector<TensorData>& in,
                    size_t* rounds) {
    ++*rounds;
    std::string wrong;
    const Computed got = layer.run(&wrong);
    if (!wrong.empty()) return wrong;
    for (size_t o = 0; o < got.size(); ++o) {
      const CheckResult result = layer.compare(o, got[o].data(), kind);
      if (result.ok) continue;
      const TensorData naive = layer.logical_output(o, naive_.evaluate(node.workload, in, denormals_)[o]);
      if (layer.compare(o, naive.bytes().data(), kind).ok)
        return fmt::format("on {} inputs: {}", hone::name_of(kind), result.message);
      --*rounds;  // the operator does not admit these
      return "";
    }
    return "";
  }

  const Graph& g_;
  const Layers& layers_;
  const Weights weights_;  // as the artifact has them: kernels are to compute the same bytes
  const Target& target_;
  NaiveKernels naive_;
  const double seconds_;
  const SteadyClock steady_clock_{};
  const Clock& clock_;
  const Clock::TimePoint begin_;
  const Denormals denormals_;
  const CheckProgress progress_;
  double seconds_of_last_ = 0;  // that comparing a layer took on the model's inputs
  std::vector<Stress> stresses_;
  std::map<int, size_t> call_of_;  // by node
  std::map<size_t, std::unique_ptr<CheckedLayer>> loaded_;
  std::vector<std::optional<TensorData>> values_;
  LayerCheck check_;
};

}  // namespace

LayerCheck check_layers(const Graph& g, const Layers& layers, const Target& target,
                        const std::vector<TensorData>& inputs, const LayerCheckOptions& options) {
  return LayersCheck(g, layers, target, options).run(inputs);
}

}  // namespace hone
