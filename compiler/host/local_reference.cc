#include "compiler/host/local_reference.h"

#include <numeric>

#include "compiler/reference/reference.h"

namespace hone {
namespace {

template <class T>
std::vector<T> elements(const std::vector<char>& bytes) {
  const auto* first = reinterpret_cast<const T*>(bytes.data());
  return {first, first + bytes.size() / sizeof(T)};
}

// The elements whose place in the output is among `only`.
template <class T>
void keep(std::vector<T>* values, const std::vector<int64_t>& samples, const std::vector<bool>& only) {
  size_t kept = 0;
  for (size_t i = 0; i < values->size(); ++i)
    if (only[static_cast<size_t>(samples[i])]) (*values)[kept++] = (*values)[i];
  values->resize(kept);
}

}  // namespace

LocalReference::LocalReference(Definition d, uint64_t seed, double budget, const Target& target, Denormals denormals)
    : definition_(std::move(d)) {
  for (size_t o = 0; o < definition_.outputs.size(); ++o) {
    samples_.push_back(reference_samples(definition_, o, seed, budget));
    if (!samples_.back().empty()) continue;
    samples_.back().resize(static_cast<size_t>(element_count(definition_.outputs[o]->shape)));
    std::iota(samples_.back().begin(), samples_.back().end(), int64_t{0});
  }
  kernel_ = std::make_unique<LocalKernel>(
      reference_module(definition_, sample_counts(definition_, samples_), target.threads, denormals), target);
  for (size_t o = 0; o < samples_.size(); ++o) kernel_->set_input(o, samples_[o].data());
}

CheckResult LocalReference::compare(size_t output, const void* got, const CompareOptions& options) const {
  const size_t first = samples_.size() + definition_.inputs.size() + 3 * output;  // of three tensors
  const DType t = definition_.outputs[output]->buffer->dtype;
  std::vector<int64_t> samples = samples_[output], integers;
  std::vector<double> values, tolerances = elements<double>(kernel_->get_output(first + 1)),
                              typical = elements<double>(kernel_->get_output(first + 2));
  if (t.is_float())
    values = elements<double>(kernel_->get_output(first));
  else
    integers = elements<int64_t>(kernel_->get_output(first));
  if (options.only) {
    for (std::vector<double>* v : {&values, &tolerances, &typical}) keep(v, samples, *options.only);
    keep(&integers, samples, *options.only);
    keep(&samples, samples_[output], *options.only);
  }
  Expected expected;
  if (t.is_float() && options.bounds_norm) expected.error_norm = error_norm_of(values, tolerances, typical);
  if (t.is_float())
    for (double& allowed : tolerances) allowed += options.more_tolerance;
  expected.samples = samples;
  expected.values = values;
  expected.int_values = integers;
  expected.tolerances = tolerances;
  return check_output(got, t, expected);
}

}  // namespace hone
