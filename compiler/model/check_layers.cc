#include "compiler/model/check_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "compiler/check/checker.h"
#include "compiler/graph/evaluate.h"
#include "compiler/host/local_kernel.h"
#include "compiler/ops/definition.h"
#include "compiler/reference/reference.h"

namespace hone {
namespace {

constexpr double kBudget = 2e7;  // multiply-adds of the reference for each output of a layer

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

  // What is wrong; empty: nothing.
  std::string run(const std::vector<TensorData>& inputs, std::vector<TensorData>* outputs, LayerCheck* check) {
    const Module& m = kernel_.module();
    for (size_t o = 0; o < samples_.size(); ++o) reference_->set_input(o, samples_[o].data());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (is_packed_[i] && m.params[i].role != ParamRole::kConstant)
        std::memcpy(kernel_.physical(i).data(), inputs[i].bytes().data(), inputs[i].bytes().size());
      else
        kernel_.set_input(i, inputs[i].bytes().data());
      reference_->set_input(samples_.size() + i, to_logical(inputs[i], types_.inputs[i]).bytes().data());
    }
    for (size_t o = 0; o < samples_.size(); ++o) {
      HostTensor& t = kernel_.physical(inputs.size() + o);
      poison(t.data(), m.params[inputs.size() + o].dtype, t.size());
    }
    for (LocalKernel* k : {&kernel_, reference_.get()})
      if (const Status ran = status_of(k->run()); !ran.ok()) return message_of(ran);
    for (size_t o = 0; o < samples_.size(); ++o) {
      const Param& p = m.params[inputs.size() + o];
      const std::vector<char> got = kernel_.get_output(inputs.size() + o);
      outputs->push_back(
          to_physical({TensorType{p.dtype, p.shape}, std::string(got.begin(), got.end())}, types_.outputs[o]));
      if (std::string wrong = compared(o, inputs.size(), p.dtype, got, check); !wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  std::string compared(size_t o, size_t inputs, DType t, const std::vector<char>& got, LayerCheck* check) const {
    const size_t first = samples_.size() + inputs + 3 * o;
    const std::vector<char> value = reference_->get_output(first), tolerance = reference_->get_output(first + 1),
                            typical = reference_->get_output(first + 2);
    const auto numbers = [&](const std::vector<char>& bytes) {
      return std::span<const double>(reinterpret_cast<const double*>(bytes.data()), samples_[o].size());
    };
    Expected expected;
    expected.samples = samples_[o];
    if (t.is_float()) {
      expected.values = numbers(value);
      expected.error_norm = error_norm_of(numbers(value), numbers(tolerance), numbers(typical));
    } else {
      expected.int_values = {reinterpret_cast<const int64_t*>(value.data()), samples_[o].size()};
    }
    expected.tolerances = numbers(tolerance);
    const CheckResult result = check_output(got.data(), t, expected);
    check->compared += static_cast<int64_t>(samples_[o].size());
    check->rel_error = std::max(check->rel_error, result.rel_error);
    return result.ok ? "" : result.message;
  }

  LocalKernel kernel_;
  const std::vector<bool> is_packed_;
  const PhysicalTypes types_;
  const Definition definition_;
  std::vector<std::vector<int64_t>> samples_;
  std::unique_ptr<LocalKernel> reference_;
};

}  // namespace

LayerCheck check_layers(const Graph& g, const Layers& layers, const Target& target,
                        const std::vector<TensorData>& inputs) {
  LayerCheck check;
  std::map<int, size_t> kernel_of;  // by node
  for (const Layer& call : layers.calls) kernel_of[call.node] = call.kernel;
  std::map<size_t, std::unique_ptr<CheckedLayer>> loaded;
  std::vector<std::optional<TensorData>> values(g.values.size());
  for (size_t v = 0; v < g.values.size(); ++v) values[v] = g.values[v].constant;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (const ValueId v = g.inputs[i].value; v != kNoValue)
      values[static_cast<size_t>(v)] = inputs[i].reshaped(g.value(v).type.shape);
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const Node& node = g.nodes[n];
    std::vector<TensorData> in, out;
    for (const ValueId v : node.inputs) in.push_back(*values[static_cast<size_t>(v)]);
    if (is_view(node)) {
      out.push_back(in[0].reshaped(g.value(node.outputs[0]).type.shape));
    } else {
      auto& layer = loaded[kernel_of.at(static_cast<int>(n))];
      if (!layer) layer = std::make_unique<CheckedLayer>(layers.kernels[kernel_of.at(static_cast<int>(n))], target);
      const std::string wrong = layer->run(in, &out, &check);
      ++check.checked;
      if (!wrong.empty()) {
        check.wrong = fmt::format("layer '{}', {}: {}", node.origin, to_string(node.workload), wrong);
        return check;
      }
    }
    for (size_t o = 0; o < out.size(); ++o) values[static_cast<size_t>(node.outputs[o])] = std::move(out[o]);
  }
  for (const Port& p : g.outputs)
    check.outputs.push_back(p.value == kNoValue ? TensorData(p.type, std::string())
                                                : values[static_cast<size_t>(p.value)]->reshaped(p.type.shape));
  return check;
}

}  // namespace hone
