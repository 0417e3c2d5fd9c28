// Denormal operands, and their cost on the processor that runs the test.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>

#include "compiler/runtime/denormals/denormals.h"

namespace hone {

/// The floating-point mode that threads begin with, whatever others have left.
inline constexpr uint64_t kUsualFloatMode =
#if defined(__x86_64__)
    0x1f80;
#else
    0;
#endif

inline double seconds_of(const std::function<void()>& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// How many times as long as `normal` a call of `odd` takes: the fastest of some turns of each.
inline double times_as_long(const std::function<void()>& odd, const std::function<void()>& normal, int turns = 7) {
  double slow = 1e30, fast = 1e30;
  for (int turn = 0; turn < turns; ++turn) {
    fast = std::min(fast, seconds_of(normal));
    slow = std::min(slow, seconds_of(odd));
  }
  return slow / fast;
}

/// Planted: multiply-adds of a denormal beside those of a normal number, in the usual mode. Some 1 where the processor
/// computes with denormals as with others, 20 to 250 where it takes them apart (an assist).
inline double cost_of_denormals() {
  const auto sum_of = [](float x) {
    return [x] {
      float a[16] = {}, by = 0.5F;
      for (float& v : a) v = x;
      for (int i = 0; i < 2000; ++i) {
        asm volatile("" : "+m"(a), "+m"(by));
        for (float& v : a) v = v * by + x;
      }
    };
  };
  const uint64_t before = hone_internal_float_mode();
  hone_internal_set_float_mode(kUsualFloatMode);
  const double cost = times_as_long(sum_of(1e-39F), sum_of(1));
  hone_internal_set_float_mode(before);
  return cost;
}

/// From here on the processor has assists, and code that they slow down is slowed down by more than this.
inline constexpr double kAssist = 5;

}  // namespace hone
