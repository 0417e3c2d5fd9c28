#include "compiler/model/checked_layer.h"

#include <cstring>

namespace hone {

CheckedLayer::CheckedLayer(const Workload& w, const Module& m, const std::vector<bool>& is_packed, const Target& target,
                           double budget)
    : kernel_(m, target), is_packed_(is_packed), types_(physical_types(w)), reference_(define(w), 1, budget, target) {}

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
  for (size_t o = 0; o < reference_.outputs(); ++o) {
    HostTensor& t = kernel_.physical(inputs + o);
    poison(t.data(), output_type(o), t.size());
  }
  Computed out;
  if (const Status ran = status_of(kernel_.run()); !ran.ok()) return *wrong = message_of(ran), out;
  for (size_t o = 0; o < reference_.outputs(); ++o) out.push_back(kernel_.get_output(inputs + o));
  return out;
}

Computed CheckedLayer::run(std::string* wrong) {
  Computed out = run_kernel(wrong);
  if (!wrong->empty()) return out;
  if (const Status ran = reference_.run(); !ran.ok()) return *wrong = message_of(ran), Computed();
  return out;
}

CheckResult CheckedLayer::compare(size_t o, const void* got, std::optional<Adversary> adversary) const {
  const double vanished = adversary == Adversary::kDenormal ? vanishing(output_type(o)) : 0;
  return reference_.compare(o, got, {.bounds_norm = !adversary, .more_tolerance = vanished});
}

TensorData CheckedLayer::output(size_t o, const std::vector<char>& got) const {
  return to_physical({TensorType{output_type(o), kernel_.module().params[types_.inputs.size() + o].shape},
                      std::string(got.begin(), got.end())},
                     types_.outputs[o]);
}

void CheckedLayer::set_reference(size_t i, const TensorData& data) {
  reference_.set_input(i, to_logical(data, types_.inputs[i]).bytes().data());
}

}  // namespace hone
