// Runs configs of a workload, compiled, against its reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "compiler/build.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/local_kernel.h"
#include "compiler/ops/reference.h"

namespace hone {

inline std::vector<char> random_elements(DType t, int64_t count, std::mt19937_64& rng) {
  std::vector<char> bytes(static_cast<size_t>(count * t.bytes()));
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(rng() >> 11) * 0x1p-52 - 1;
    if (t == f32) reinterpret_cast<float*>(bytes.data())[i] = static_cast<float>(x);
    if (t == f64) reinterpret_cast<double*>(bytes.data())[i] = x;
    if (t.bits == 8) bytes[static_cast<size_t>(i)] = static_cast<char>(rng());
    if (t == i32) reinterpret_cast<int32_t*>(bytes.data())[i] = static_cast<int32_t>(rng() % 256) - 128;
  }
  return bytes;
}

inline double element(const std::vector<char>& bytes, DType t, int64_t i) {
  if (t == f32) return reinterpret_cast<const float*>(bytes.data())[i];
  if (t == f64) return reinterpret_cast<const double*>(bytes.data())[i];
  if (t == i64) return static_cast<double>(reinterpret_cast<const int64_t*>(bytes.data())[i]);
  return reinterpret_cast<const int32_t*>(bytes.data())[i];
}

/// The default and random configs, `config_count` in all, of those whose text begins with `prefix`; fails the test at the first that disagrees.
inline void expect_configs_match_reference(const Workload& w, size_t config_count, uint64_t seed, std::string_view prefix = "") {
  const Target target = host_target(2);
  const Space space = make_space(w, target);
  std::mt19937_64 rng(seed);

  const int64_t outputs = output_elements(w);
  std::vector<int64_t> samples(static_cast<size_t>(outputs));
  for (int64_t i = 0; i < outputs; ++i) samples[static_cast<size_t>(i)] = i;
  LocalKernel reference(reference_module(w, outputs, 2), target);
  reference.set_input(0, samples.data());
  std::vector<std::vector<char>> inputs;
  const size_t count = reference.module().params.size() - 3;
  for (size_t i = 0; i < count; ++i) {
    const Param& p = reference.module().params[i + 1];
    inputs.push_back(random_elements(p.dtype, element_count(p.shape), rng));
    reference.set_input(i + 1, inputs.back().data());
  }
  ASSERT_EQ(reference.run(), HONE_OK);
  const auto value = reference.get_output(count + 1), magnitude = reference.get_output(count + 2);
  const ErrorBounds bounds = error_bounds(w);

  std::vector<Config> configs;
  const auto take = [&](const Config& c) {
    if (space.print(c).starts_with(prefix)) configs.push_back(c);
  };
  take(space.default_config());
  for (int tries = 0; configs.size() < config_count && tries < 1000; ++tries) {
    const auto c = space.sample(rng);
    if (!c) break;
    take(*c);
  }
  ASSERT_FALSE(configs.empty()) << "no config begins with " << prefix;
  for (const Config& config : configs) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    LocalKernel kernel(m, target);
    for (size_t i = 0; i < count; ++i) kernel.set_input(i, inputs[i].data());
    HostTensor& out = kernel.physical(count);
    std::memset(out.data(), 0xff, static_cast<size_t>(out.bytes()));
    ASSERT_EQ(kernel.run(), HONE_OK);
    const auto got = kernel.get_output(count);
    const DType t = m.params[count].dtype, wide = reference.module().params[count + 1].dtype;
    int64_t wrong = 0;
    for (int64_t i = 0; i < outputs && wrong < 5; ++i) {
      const double want = element(value, wide, i), is = element(got, t, i), allowed = bounds.max_error * element(magnitude, f64, i);
      // A NaN is right where the reference has one, but for the pattern that nothing wrote over.
      const char* bytes = got.data() + i * t.bytes();
      const bool written = std::any_of(bytes, bytes + t.bytes(), [](char c) { return c != '\xff'; });
      const bool same = want == is || (std::isnan(want) && std::isnan(is) && written);
      if (!same && !(std::fabs(is - want) <= allowed)) {
        ++wrong;
        ADD_FAILURE() << "element " << i << " is " << is << ", not " << want;
      }
    }
    if (wrong) return;
  }
}

}  // namespace hone
