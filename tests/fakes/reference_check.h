// Runs configs of a workload against its reference.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <utility>

#include "base/narrow_floats.h"
#include "compiler/build/build.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/local_kernel.h"
#include "compiler/lower/layout_functions.h"
#include "compiler/reference/reference.h"
#include "tests/fakes/draws.h"

namespace hone {

inline std::vector<char> random_elements(DType t, int64_t count, std::mt19937_64& rng) {
  std::vector<char> bytes(static_cast<size_t>(count * t.bytes()));
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(rng() >> 11) * 0x1p-52 - 1;
    if (t == f32) reinterpret_cast<float*>(bytes.data())[i] = static_cast<float>(x);
    if (t == f64) reinterpret_cast<double*>(bytes.data())[i] = x;
    if (t.is_narrow_float()) {
      // Its products are normal numbers of 16 bits too.
      const float coarse = std::floor(static_cast<float>(x) * 128) / 128;
      reinterpret_cast<uint16_t*>(bytes.data())[i] = t == f16 ? f16_of_float(coarse) : bf16_of_float(coarse);
    }
    // Small numbers whose products and sums fit wider types; bytes over their whole range.
    if (t.is_bool()) bytes[static_cast<size_t>(i)] = static_cast<char>(rng() % 2);
    if (t.is_integer() && t.bits == 8) bytes[static_cast<size_t>(i)] = static_cast<char>(rng());
    if (t.is_integer() && t.bits > 8) {
      const int64_t small = static_cast<int64_t>(rng() % 256) - (t.code == TypeCode::kInt ? 128 : 0);
      std::memcpy(bytes.data() + i * t.bytes(), &small, static_cast<size_t>(t.bytes()));
    }
  }
  return bytes;
}

inline double element(const std::vector<char>& bytes, DType t, int64_t i) {
  if (t == f32) return reinterpret_cast<const float*>(bytes.data())[i];
  if (t == f64) return reinterpret_cast<const double*>(bytes.data())[i];
  if (t.is_narrow_float()) {
    const uint16_t bits = reinterpret_cast<const uint16_t*>(bytes.data())[i];
    return t == f16 ? float_of_f16(bits) : float_of_bf16(bits);
  }
  const auto as = [&](auto sample) {
    std::memcpy(&sample, bytes.data() + i * t.bytes(), sizeof sample);
    return static_cast<double>(sample);
  };
  const bool is_signed = t.code == TypeCode::kInt;
  switch (t.bytes()) {
    case 1: return is_signed ? as(int8_t{}) : as(uint8_t{});
    case 2: return is_signed ? as(int16_t{}) : as(uint16_t{});
    case 4: return is_signed ? as(int32_t{}) : as(uint32_t{});
    default: return is_signed ? as(int64_t{}) : as(uint64_t{});
  }
}

/// Random inputs of a computation, and the outputs of its reference.
class ReferenceRun {
 public:
  ReferenceRun(const Workload& w, std::mt19937_64& rng) : ReferenceRun(define(w), rng) {}
  ReferenceRun(const Definition& d, std::mt19937_64& rng) {
    const std::vector<int64_t> counts = sample_counts(d, std::vector<std::vector<int64_t>>(d.outputs.size()));
    LocalKernel kernel(reference_module(d, counts, 2), host_target(2));
    for (size_t o = 0; o < counts.size(); ++o) {
      std::vector<int64_t> samples(static_cast<size_t>(counts[o]));
      std::iota(samples.begin(), samples.end(), 0);
      kernel.set_input(o, samples.data());
    }
    for (size_t i = 0; i < d.inputs.size(); ++i) {
      const Param& p = kernel.module().params[i + counts.size()];
      inputs_.push_back(random_elements(p.dtype, element_count(p.shape), rng));
      kernel.set_input(i + counts.size(), inputs_.back().data());
    }
    EXPECT_EQ(kernel.run(), HONE_OK);
    for (size_t o = 0; o < counts.size(); ++o) {
      const size_t first = d.inputs.size() + counts.size() + 3 * o;
      outputs_.push_back(
          {counts[o], kernel.module().params[first].dtype, kernel.get_output(first), kernel.get_output(first + 1)});
    }
  }

  /// Logical elements of the inputs, by parameter.
  const std::vector<std::vector<char>>& inputs() const { return inputs_; }
  size_t outputs() const { return outputs_.size(); }

  /// Whether logical elements `got` of all outputs of `m`, one output behind the other, are right; fails the test where
  /// not. Memory that nothing wrote over consists of 0xff.
  bool expect_agrees(const std::vector<char>& got, const Module& m) const {
    bool is_right = true;
    size_t at = 0;
    for (size_t o = 0; o < outputs_.size(); ++o) {
      const DType t = m.params[inputs_.size() + o].dtype;
      const size_t bytes = static_cast<size_t>(outputs_[o].count * t.bytes());
      is_right &= expect_output_agrees(
          {got.begin() + static_cast<std::ptrdiff_t>(at), got.begin() + static_cast<std::ptrdiff_t>(at + bytes)}, t, o);
      at += bytes;
    }
    return is_right && at == got.size();
  }

 private:
  struct Output {
    int64_t count;
    DType wide;  ///< f64 or s64
    std::vector<char> value, tolerance;
  };

  bool expect_output_agrees(const std::vector<char>& got, DType t, size_t output) const {
    const Output& o = outputs_[output];
    int64_t wrong = 0;
    for (int64_t i = 0; i < o.count && wrong < 5; ++i) {
      const double want = element(o.value, o.wide, i), is = element(got, t, i), allowed = element(o.tolerance, f64, i);
      // A NaN is right where the reference has one, but for the pattern that nothing wrote over.
      const char* bytes = got.data() + i * t.bytes();
      const bool written = std::any_of(bytes, bytes + t.bytes(), [](char c) { return c != '\xff'; });
      const bool same = want == is || (std::isnan(want) && std::isnan(is) && written);
      if (!same && !(std::fabs(is - want) <= allowed)) {
        ++wrong;
        ADD_FAILURE() << "output " << output << ", element " << i << " is " << is << ", not " << want;
      }
    }
    return wrong == 0;
  }

  std::vector<std::vector<char>> inputs_;
  std::vector<Output> outputs_;
};

/// The default and random configs, `count` in all where the space has as many, of those whose text begins with
/// `prefix`.
inline std::vector<Config> default_and_random(const Space& space, size_t count, std::mt19937_64& rng,
                                              std::string_view prefix = "") {
  std::vector<Config> configs;
  const auto take = [&](const Config& c) {
    if (space.print(c).starts_with(prefix)) configs.push_back(c);
  };
  take(space.default_config());
  for (int tries = 0; configs.size() < count && tries < 1000; ++tries) {
    const auto c = space.sample(rng);
    if (!c) break;
    take(*c);
  }
  EXPECT_FALSE(configs.empty()) << "no config begins with " << prefix;
  return configs;
}

/// The same, but the default and a third of the others where not all are drawn.
inline std::vector<Config> some_configs(const Space& space, size_t count, std::mt19937_64& rng,
                                        std::string_view prefix = "") {
  return default_and_random(space, draws(1 + (count + 1) / 3, count), rng, prefix);
}

/// Runs some configs, `config_count` of some_configs(), that are made for `made_for` (two threads), compiled for this
/// machine, and of the first one, the default where it begins with `prefix`, the row-major form too, which artifacts
/// have; fails the test at the first that disagrees with the reference. With models in the place of tiles, they are
/// compiled for `made_for`, which is this machine with tiles.
inline void expect_configs_match_reference(const Workload& w, const Target& made_for, size_t config_count,
                                           uint64_t seed, std::string_view prefix = "",
                                           TileCode tile_code = TileCode::kInstructions) {
  const Target target = tile_code == TileCode::kModel ? made_for : host_target(2);
  const Space space = make_space(w, made_for);
  std::mt19937_64 rng(seed);
  const ReferenceRun reference(w, rng);
  const std::vector<std::vector<char>>& inputs = reference.inputs();
  const auto is_right = [&](const Module& m) {
    LocalKernel kernel(m, target, {}, Denormals::kKeep, tile_code);
    for (size_t i = 0; i < inputs.size(); ++i) kernel.set_input(i, inputs[i].data());
    for (size_t o = 0; o < reference.outputs(); ++o) {
      HostTensor& out = kernel.physical(inputs.size() + o);
      std::memset(out.data(), 0xff, static_cast<size_t>(out.bytes()));
    }
    EXPECT_EQ(kernel.run(), HONE_OK);
    std::vector<char> got;
    for (size_t o = 0; o < reference.outputs(); ++o) {
      const std::vector<char> bytes = kernel.get_output(inputs.size() + o);
      got.insert(got.end(), bytes.begin(), bytes.end());
    }
    return reference.expect_agrees(got, m);
  };
  bool is_first = true;
  for (const Config& config : some_configs(space, config_count, rng, prefix)) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, made_for, space, config);
    if (!is_right(m) || (std::exchange(is_first, false) && !is_right(plain_module(m)))) return;
  }
}

/// The same of configs for this machine.
inline void expect_configs_match_reference(const Workload& w, size_t config_count, uint64_t seed,
                                           std::string_view prefix = "") {
  expect_configs_match_reference(w, host_target(2), config_count, seed, prefix);
}

}  // namespace hone
