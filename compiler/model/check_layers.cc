#include "compiler/model/check_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "compiler/check/adversarial.h"
#include "compiler/check/checker.h"
#include "compiler/graph/evaluate.h"
#include "compiler/host/local_kernel.h"
#include "compiler/model/naive_kernels.h"
#include "compiler/model/weights.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/operator.h"
#include "compiler/reference/reference.h"

namespace hone {
namespace {

constexpr double kBudget = 2e7;  // multiply-adds of the reference for each output of a layer

// An output as the kernel computed it: its elements in the order of the logical tensor.
using Computed = std::vector<std::vector<char>>;

// A workload's kernel beside its reference.
class CheckedLayer {
 public:
  CheckedLayer(const Kernel& k, const Target& target)
      : kernel_(k.module, target),
        is_packed_(k.is_packed),
        types_(physical_types(k.workload)),
        definition_(define(k.workload)) {
    for (size_t o = 0; o < definition_.outputs.size(); ++o) {
      samples_.push_back(reference_samples(definition_, o, 1, kBudget));
      if (!samples_.back().empty()) continue;
      samples_.back().resize(static_cast<size_t>(element_count(definition_.outputs[o]->shape)));
      std::iota(samples_.back().begin(), samples_.back().end(), int64_t{0});
    }
    reference_ = std::make_unique<LocalKernel>(
        reference_module(definition_, sample_counts(definition_, samples_), target.threads), target);
  }

  // `packed`: the kernel's own tensors for this parameter, where it is a constant that the model has packed.
  void set_input(size_t i, const TensorData& data, const std::vector<const char*>& packed = {}) {
    for (size_t k = 0; k < packed.size(); ++k) {
      HostTensor& t = kernel_.physical(i, k);
      std::memcpy(t.data(), packed[k], static_cast<size_t>(t.bytes()));
    }
    if (!packed.empty()) return set_reference(i, data);
    if (is_packed_[i] && kernel_.module().params[i].role != ParamRole::kConstant)
      std::memcpy(kernel_.physical(i).data(), data.bytes().data(), data.bytes().size());
    else
      kernel_.set_input(i, data.bytes().data());
    set_reference(i, data);
  }

  // Runs the kernel and its reference on the inputs that were set. Codes other than HONE_OK are in `*wrong`.
  Computed run(std::string* wrong) {
    const size_t inputs = types_.inputs.size();
    for (size_t o = 0; o < samples_.size(); ++o) {
      HostTensor& t = kernel_.physical(inputs + o);
      poison(t.data(), output_type(o), t.size());
      reference_->set_input(o, samples_[o].data());
    }
    Computed out;
    for (LocalKernel* k : {&kernel_, reference_.get()})
      if (const Status ran = status_of(k->run()); !ran.ok()) return *wrong = message_of(ran), out;
    for (size_t o = 0; o < samples_.size(); ++o) out.push_back(kernel_.get_output(inputs + o));
    return out;
  }

  // Output `o` against the reference of the last run. `adversary`: on such inputs, where roundings go one way, each
  // element is held to its own tolerance alone.
  CheckResult compare(size_t o, const void* got, std::optional<Adversary> adversary) const {
    const size_t first = samples_.size() + types_.inputs.size() + 3 * o;
    const std::vector<char> value = reference_->get_output(first), tolerance = reference_->get_output(first + 1),
                            typical = reference_->get_output(first + 2);
    const auto numbers = [&](const std::vector<char>& bytes) {
      return std::span<const double>(reinterpret_cast<const double*>(bytes.data()), samples_[o].size());
    };
    const DType t = output_type(o);
    std::vector<double> allowed(numbers(tolerance).begin(), numbers(tolerance).end());
    if (t.is_float() && adversary == Adversary::kDenormal)
      for (double& a : allowed) a += vanishing(t);
    Expected expected;
    expected.samples = samples_[o];
    if (t.is_float()) {
      expected.values = numbers(value);
      if (!adversary) expected.error_norm = error_norm_of(numbers(value), numbers(tolerance), numbers(typical));
    } else {
      expected.int_values = {reinterpret_cast<const int64_t*>(value.data()), samples_[o].size()};
    }
    expected.tolerances = allowed;
    return check_output(got, t, expected);
  }

  TensorData output(size_t o, const std::vector<char>& got) const {
    return to_physical({TensorType{output_type(o), kernel_.module().params[types_.inputs.size() + o].shape},
                        std::string(got.begin(), got.end())},
                       types_.outputs[o]);
  }
  size_t outputs() const { return samples_.size(); }
  int64_t samples(size_t o) const { return static_cast<int64_t>(samples_[o].size()); }
  TensorData logical_output(size_t o, const TensorData& data) const { return to_logical(data, types_.outputs[o]); }

 private:
  void set_reference(size_t i, const TensorData& data) {
    reference_->set_input(samples_.size() + i, to_logical(data, types_.inputs[i]).bytes().data());
  }
  DType output_type(size_t o) const { return kernel_.module().params[types_.inputs.size() + o].dtype; }

  LocalKernel kernel_;
  const std::vector<bool> is_packed_;
  const PhysicalTypes types_;
  const Definition definition_;
  std::vector<std::vector<int64_t>> samples_;
  std::unique_ptr<LocalKernel> reference_;
};

class LayersCheck {
 public:
  LayersCheck(const Graph& g, const Layers& layers, const Target& target, double seconds)
      : g_(g),
        layers_(layers),
        weights_(pack_weights(g, layers)),
        target_(target),
        naive_(target),
        seconds_(seconds),
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
    if (!check_.wrong.empty()) return std::move(check_);
    for (const Port& p : g_.outputs)
      check_.outputs.push_back(p.value == kNoValue ? TensorData(p.type, std::string())
                                                   : values_[static_cast<size_t>(p.value)]->reshaped(p.type.shape));
    return std::move(check_);
  }

 private:
  void visit(size_t n) {
    const Node& node = g_.nodes[n];
    std::vector<TensorData> in, out;
    for (const ValueId v : node.inputs) in.push_back(*values_[static_cast<size_t>(v)]);
    if (is_view(node)) {
      out.push_back(in[0].reshaped(g_.value(node.outputs[0]).type.shape));
    } else if (!call_of_.contains(static_cast<int>(n))) {
      out = evaluate(node.workload, in);
    } else if (const auto& host = layers_.kernels[layers_.calls[call_of_.at(static_cast<int>(n))].kernel].host) {
      out = call_host_function(*host, in);
      if (node.workload.op->define) check_host(node, in, out);
    } else {
      const size_t call = call_of_.at(static_cast<int>(n)), kernel = layers_.calls[call].kernel;
      auto& layer = loaded_[kernel];
      if (!layer) layer = std::make_unique<CheckedLayer>(layers_.kernels[kernel], target_);
      std::string wrong = on_real_inputs(*layer, node, call, in, &out);
      ++check_.checked;
      if (wrong.empty()) wrong = on_adversarial_inputs(*layer, node, in);
      if (!wrong.empty())
        check_.wrong = fmt::format("layer '{}', {}: {}", node.origin, to_string(node.workload), wrong);
    }
    for (size_t o = 0; o < out.size(); ++o) values_[static_cast<size_t>(node.outputs[o])] = std::move(out[o]);
  }

  // A function in C that has a definition, too, gives what that does, bit by bit.
  void check_host(const Node& node, const std::vector<TensorData>& in, const std::vector<TensorData>& out) {
    ++check_.checked;
    const std::vector<TensorData> expected = naive_.evaluate(node.workload, in);
    for (size_t o = 0; o < out.size(); ++o) {
      check_.compared += out[o].elements();
      if (!std::equal(out[o].bytes().begin(), out[o].bytes().end(), expected[o].bytes().begin()))
        check_.wrong = fmt::format("layer '{}', {}: the function in C and the definition differ", node.origin,
                                   to_string(node.workload));
    }
  }

  std::string on_real_inputs(CheckedLayer& layer, const Node& node, size_t call, const std::vector<TensorData>& in,
                             std::vector<TensorData>* out) {
    for (size_t i = 0; i < in.size(); ++i) {
      std::vector<const char*> packed;
      for (const int64_t offset : weights_.offsets[call][i]) packed.push_back(weights_.bytes.data() + offset);
      layer.set_input(i, in[i], packed);
    }
    std::string wrong;
    const Computed got = layer.run(&wrong);
    for (size_t o = 0; o < got.size() && wrong.empty(); ++o) {
      const CheckResult result = layer.compare(o, got[o].data(), std::nullopt);
      check_.compared += layer.samples(o);
      check_.rel_error = std::max(check_.rel_error, result.rel_error);
      check_.errors[call] = std::max(check_.errors[call].value_or(0), result.rel_error);
      if (!result.ok && !is_as_good_as_naive(layer, node, in, o, result)) wrong = result.message;
      out->push_back(layer.output(o, got[o]));
    }
    return wrong;
  }

  // Trained weights may cancel everywhere (a bias that takes away what a sum adds), which the norm of all errors does
  // not know of: then the naive program is further off than allowed, too. Each element is within its own tolerance.
  bool is_as_good_as_naive(const CheckedLayer& layer, const Node& node, const std::vector<TensorData>& in, size_t o,
                           const CheckResult& result) {
    constexpr double kOrders = 4;  // orders of summation differ by so much
    if (result.max_error > 1) return false;
    const TensorData naive = layer.logical_output(o, naive_.evaluate(node.workload, in)[o]);
    const CheckResult of_naive = layer.compare(o, naive.bytes().data(), std::nullopt);
    return !of_naive.ok && of_naive.max_error <= 1 && result.rel_error <= kOrders * of_naive.rel_error;
  }

  // As many kinds as there is time for; each layer begins with another one.
  std::string on_adversarial_inputs(CheckedLayer& layer, const Node& node, std::vector<TensorData> in) {
    const size_t before = check_.rounds;
    constexpr size_t kKinds = std::size(kAdversaries);
    for (size_t k = 0; k < kKinds; ++k) {
      if (is_time_used()) {
        check_.stress_left_out += check_.rounds == before ? 1 : 0;
        break;
      }
      const Adversary kind = kAdversaries[(check_.checked + k) % kKinds];
      if (!make_adversarial(layer, node, kind, &in)) continue;
      if (std::string wrong = round(layer, node, kind, in); !wrong.empty()) return wrong;
    }
    check_.stressed += check_.rounds > before ? 1 : 0;
    return "";
  }

  // The first layers, which are often the largest, have a fifth of the time in advance.
  bool is_time_used() const {
    const double share = 0.2 + 0.8 * static_cast<double>(check_.checked) / static_cast<double>(layers_.calls.size());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() >= seconds_ * share;
  }

  // Whether there is something to replace. Elements that only pad blocks of channels stay zero.
  bool make_adversarial(CheckedLayer& layer, const Node& node, Adversary kind, std::vector<TensorData>* in) {
    const PhysicalTypes types = physical_types(node.workload);
    bool is_changed = false;
    for (size_t i = 0; i < in->size(); ++i) {
      if (g_.is_constant(node.inputs[i])) continue;
      const TensorType& t = types.inputs[i].logical;
      std::string bytes(static_cast<size_t>(bytes_of(t)), '\0');
      if (!fill_adversarial(bytes.data(), t.dtype, element_count(t.shape), kind, i + 1)) continue;
      (*in)[i] = to_physical({t, std::move(bytes)}, types.inputs[i]);
      layer.set_input(i, (*in)[i]);
      is_changed = true;
    }
    return is_changed;
  }

  std::string round(CheckedLayer& layer, const Node& node, Adversary kind, const std::vector<TensorData>& in) {
    ++check_.rounds;
    std::string wrong;
    const Computed got = layer.run(&wrong);
    if (!wrong.empty()) return wrong;
    for (size_t o = 0; o < got.size(); ++o) {
      const CheckResult result = layer.compare(o, got[o].data(), kind);
      if (result.ok) continue;
      const TensorData naive = layer.logical_output(o, naive_.evaluate(node.workload, in)[o]);
      if (layer.compare(o, naive.bytes().data(), kind).ok)
        return fmt::format("on {} inputs: {}", name_of(kind), result.message);
      --check_.rounds;  // the operator does not admit these
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
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::map<int, size_t> call_of_;  // by node
  std::map<size_t, std::unique_ptr<CheckedLayer>> loaded_;
  std::vector<std::optional<TensorData>> values_;
  LayerCheck check_;
};

}  // namespace

LayerCheck check_layers(const Graph& g, const Layers& layers, const Target& target,
                        const std::vector<TensorData>& inputs, const LayerCheckOptions& options) {
  return LayersCheck(g, layers, target, options.seconds).run(inputs);
}

}  // namespace hone
