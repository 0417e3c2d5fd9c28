#include "compiler/cli/measure_here.h"

#include <algorithm>
#include <numeric>

#include "compiler/check/checker.h"
#include "compiler/check/inputs.h"
#include "compiler/local_kernel.h"
#include "compiler/ops/reference.h"
#include "compiler/runtime/time_kernel.h"

namespace hone {
namespace {

std::vector<char> logical_input(const Param& p, size_t index, uint64_t seed) {
  std::vector<char> data(static_cast<size_t>(element_count(p.shape) * p.dtype.bytes()));
  const Status filled = fill_input(data.data(), p.dtype, element_count(p.shape), seed, static_cast<uint32_t>(index));
  HONE_USER_CHECK(filled.ok()) << message_of(filled);
  return data;
}

}  // namespace

StatusOr<HereTime> time_here(const Target& target, const Module& m, int repeats, double min_repeat_ms) {
  LocalKernel kernel(m, target);
  for (size_t i = 0; i + 1 < m.params.size(); ++i) kernel.set_input(i, logical_input(m.params[i], i, 1).data());
  const SteadyClock clock;
  HONE_ASSIGN_OR_RETURN(TimeResult t, time_kernel([&] { return kernel.run(); }, {.warmup = 2, .repeats = repeats, .min_repeat_ms = min_repeat_ms}, clock));
  const auto [fastest, slowest] = std::minmax_element(t.seconds.begin(), t.seconds.end());
  return HereTime{t.median(), (*slowest - *fastest) / t.median()};
}

HereCheck check_here(const Workload& w, const Target& target, const Module& m, uint64_t seed) {
  std::vector<int64_t> samples = reference_samples(w, seed);
  if (samples.empty()) {
    samples.resize(static_cast<size_t>(output_elements(w)));
    std::iota(samples.begin(), samples.end(), 0);
  }
  LocalKernel kernel(m, target), reference(reference_module(w, static_cast<int64_t>(samples.size()), target.threads), target);
  reference.set_input(0, samples.data());
  const size_t out = m.params.size() - 1;
  for (size_t i = 0; i < out; ++i) {
    const std::vector<char> data = logical_input(m.params[i], i, seed);
    kernel.set_input(i, data.data());
    reference.set_input(i + 1, data.data());
  }
  const DType t = m.params[out].dtype;
  HostTensor& physical = kernel.physical(out);
  poison(physical.data(), t, physical.size());
  HereCheck result;
  result.compared = static_cast<int64_t>(samples.size());
  const Status ran = status_of(kernel.run()), referenced = status_of(reference.run());
  if (!ran.ok() || !referenced.ok()) {
    result.message = message_of(ran.ok() ? referenced : ran);
    return result;
  }
  const std::vector<char> got = kernel.get_output(out), value = reference.get_output(out + 1), magnitude = reference.get_output(out + 2);
  const ErrorBounds bounds = error_bounds(w);
  Expected expected;
  expected.samples = samples;
  if (t.is_float())
    expected.values = {reinterpret_cast<const double*>(value.data()), samples.size()};
  else
    expected.int_values = {reinterpret_cast<const int64_t*>(value.data()), samples.size()};
  expected.magnitudes = {reinterpret_cast<const double*>(magnitude.data()), samples.size()};
  expected.rel_error = bounds.rel_error;
  expected.max_error = bounds.max_error;
  const CheckResult c = check_output(got.data(), t, expected);
  result.ok = c.ok;
  result.message = c.message;
  result.rel_error = c.rel_error;
  result.max_error = c.max_error;
  return result;
}

}  // namespace hone
