#include "tests/bench/machine_peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>

namespace hone::bench {
namespace {

// More chains than latency (4 to 5 cycles) times units (2) asks for, few enough for 16 registers.
constexpr int kChains = 12;
constexpr int64_t kSteps = 400'000;

// Kept from being folded away.
std::atomic<float> sink;

typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));

template <class Vector>
[[gnu::always_inline]] inline void multiply_add(int64_t steps) {
  Vector sums[kChains];
  for (int c = 0; c < kChains; ++c) sums[c] = Vector{} + static_cast<float>(c);
  Vector factor = Vector{} + 0.999f, addend = Vector{} + 0.001f;
  // The compiler may not know the factors.
  __asm__ volatile("" : "+m"(factor), "+m"(addend));
  for (int64_t s = 0; s < steps; ++s)
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sums[c] = sums[c] * factor + addend;
  float total = 0;
  for (int c = 0; c < kChains; ++c) total += sums[c][0];
  sink = total;
}

struct Loop {
  int lanes;
  void (*run)(int64_t steps);
};

#ifdef __x86_64__
[[gnu::target("avx512f")]] void run_avx512(int64_t steps) { multiply_add<Floats16>(steps); }
[[gnu::target("avx2,fma")]] void run_avx2(int64_t steps) { multiply_add<Floats8>(steps); }
#endif
void run_portable(int64_t steps) { multiply_add<Floats4>(steps); }

Loop widest_loop() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return {16, &run_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {8, &run_avx2};
#endif
  return {4, &run_portable};
}

}  // namespace

double measured_peak_gflops(ThreadPool& pool) {
  Loop loop = widest_loop();
  const HoneChunk chunk = [](int64_t, int64_t, int32_t, void* closure) -> int32_t {
    static_cast<Loop*>(closure)->run(kSteps);
    return HONE_OK;
  };
  double best = 0;
  for (int round = 0; round < 10; ++round) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for(chunk, &loop, pool.workers(), pool.workers());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * kChains * loop.lanes * static_cast<double>(kSteps) * pool.workers() / took.count() * 1e-9);
  }
  return best;
}

}  // namespace hone::bench
