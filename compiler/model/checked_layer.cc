#include "compiler/model/checked_layer.h"

#include <cstring>
#include <numeric>

#include "compiler/reference/reference.h"

namespace hone {
namespace {

constexpr double kBudget = 2e7;  // multiply-adds of the reference for each output of a layer

}  // namespace

CheckedLayer::CheckedLayer(const Workload& w, const Module& m, const std::vector<bool>& is_packed, const Target& target)
    : kernel_(m, target), is_packed_(is_packed), types_(physical_types(w)), definition_(define(w)) {
  for (size_t o = 0; o < definition_.outputs.size(); ++o) {
    samples_.push_back(reference_samples(definition_, o, 1, kBudget));
    if (!samples_.back().empty()) continue;
    samples_.back().resize(static_cast<size_t>(element_count(definition_.outputs[o]->shape)));
    std::iota(samples_.back().begin(), samples_.back().end(), int64_t{0});
  }
  reference_ = std::make_unique<LocalKernel>(
      reference_module(definition_, sample_counts(definition_, samples_), target.threads), target);
  for (size_t o = 0; o < samples_.size(); ++o) reference_->set_input(o, samples_[o].data());
}

void CheckedLayer::set_input(size_t i, const TensorData& data, const std::vector<const char*>& packed) {
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

Computed CheckedLayer::run_kernel(std::string* wrong) {
  const size_t inputs = types_.inputs.size();
  for (size_t o = 0; o < samples_.size(); ++o) {
    HostTensor& t = kernel_.physical(inputs + o);
    poison(t.data(), output_type(o), t.size());
  }
  Computed out;
  if (const Status ran = status_of(kernel_.run()); !ran.ok()) return *wrong = message_of(ran), out;
  for (size_t o = 0; o < samples_.size(); ++o) out.push_back(kernel_.get_output(inputs + o));
  return out;
}

Computed CheckedLayer::run(std::string* wrong) {
  Computed out = run_kernel(wrong);
  if (!wrong->empty()) return out;
  if (const Status ran = status_of(reference_->run()); !ran.ok()) return *wrong = message_of(ran), Computed();
  return out;
}

CheckResult CheckedLayer::compare(size_t o, const void* got, std::optional<Adversary> adversary) const {
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

TensorData CheckedLayer::output(size_t o, const std::vector<char>& got) const {
  return to_physical({TensorType{output_type(o), kernel_.module().params[types_.inputs.size() + o].shape},
                      std::string(got.begin(), got.end())},
                     types_.outputs[o]);
}

void CheckedLayer::set_reference(size_t i, const TensorData& data) {
  reference_->set_input(samples_.size() + i, to_logical(data, types_.inputs[i]).bytes().data());
}

}  // namespace hone
