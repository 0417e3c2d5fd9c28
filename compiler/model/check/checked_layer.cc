#include "compiler/model/check/checked_layer.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace hone {
namespace {

// The bits of a float without its sign; those of denormals are less than `normal` and not 0.
template <class T>
bool has_denormals(std::span<const char> bytes, T normal) {
  constexpr T kSign = T{1} << (8 * sizeof(T) - 1);
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    if (const T size = static_cast<T>(bits & ~kSign); size != 0 && size < normal) return true;
  }
  return false;
}

// Whether data of a type that may_vanish() has a denormal number.
bool holds_denormals(const TensorData& data) {
  const DType t = data.type().dtype;
  return t == f64   ? has_denormals(data.bytes(), uint64_t{1} << 52)
         : t == f32 ? has_denormals(data.bytes(), uint32_t{1} << 23)
                    : has_denormals(data.bytes(), static_cast<uint16_t>(1 << 7));
}

}  // namespace

CheckedLayer::CheckedLayer(const Workload& w, const Module& m, const std::vector<bool>& is_packed, const Target& target,
                           double budget, Denormals denormals)
    : kernel_(m, target, {}, denormals),
      is_packed_(is_packed),
      types_(physical_types(w)),
      workload_(w),
      target_(target),
      budget_(budget),
      denormals_(denormals),
      inputs_(types_.inputs.size()),
      may_vanish_in_(types_.inputs.size(), false) {
  made(false);
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
  for (size_t o = 0; o < types_.outputs.size(); ++o) {
    HostTensor& t = kernel_.physical(inputs + o);
    poison(t.data(), output_type(o), t.size());
  }
  Computed out;
  if (const Status ran = status_of(kernel_.run()); !ran.ok()) return *wrong = message_of(ran), out;
  for (size_t o = 0; o < types_.outputs.size(); ++o) out.push_back(kernel_.get_output(inputs + o));
  return out;
}

Computed CheckedLayer::run(std::string* wrong) {
  Computed out = run_kernel(wrong);
  if (!wrong->empty()) return out;
  may_vanish_ = std::find(may_vanish_in_.begin(), may_vanish_in_.end(), true) != may_vanish_in_.end();
  Oracle& oracle = made(may_vanish_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (oracle.is_set[i]) continue;
    oracle.reference->set_input(i, to_logical(inputs_[i], types_.inputs[i]).bytes().data());
    oracle.is_set[i] = true;
  }
  if (const Status ran = oracle.reference->run(); !ran.ok()) return *wrong = message_of(ran), Computed();
  return out;
}

CheckResult CheckedLayer::compare(size_t o, const void* got, std::optional<Adversary> adversary) const {
  // Tolerances are relative to values; below the smallest normal number roundings are not.
  const double vanished = adversary == Adversary::kDenormal ? smallest_normal(output_type(o)) : 0;
  return current().compare(o, got, {.bounds_norm = !adversary, .more_tolerance = vanished});
}

TensorData CheckedLayer::output(size_t o, const std::vector<char>& got) const {
  return to_physical({TensorType{output_type(o), kernel_.module().params[types_.inputs.size() + o].shape},
                      std::string(got.begin(), got.end())},
                     types_.outputs[o]);
}

void CheckedLayer::set_reference(size_t i, const TensorData& data) {
  inputs_[i] = data;
  may_vanish_in_[i] = denormals_ == Denormals::kZero && may_vanish(data.type().dtype) && holds_denormals(data);
  for (Oracle& oracle : oracles_)
    if (oracle.reference) oracle.is_set[i] = false;
}

CheckedLayer::Oracle& CheckedLayer::made(bool may_vanish) {
  Oracle& oracle = oracles_[may_vanish];
  if (oracle.reference) return oracle;
  const Denormals bounds = may_vanish ? Denormals::kZero : Denormals::kKeep;
  oracle = {std::make_unique<LocalReference>(define(workload_), 1, budget_, target_, bounds),
            std::vector<bool>(inputs_.size(), false)};
  return oracle;
}

}  // namespace hone
