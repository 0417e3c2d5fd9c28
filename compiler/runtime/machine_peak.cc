#include "compiler/runtime/machine_peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "compiler/runtime/buffer.h"

namespace hone {
namespace {

// More chains of FMAs than latency (4 to 5 cycles) times units (2), and few enough for 16 registers.
constexpr int kChains = 12;
constexpr int64_t kSteps = 400'000;

// Keeps the compiler from folding the value away.
std::atomic<float> sink;

typedef float Floats4 __attribute__((vector_size(16)));
typedef float Floats8 __attribute__((vector_size(32)));
typedef float Floats16 __attribute__((vector_size(64)));

// Sums of a buffer's vectors, on chains enough to wait for memory only.
template <class Vector>
[[gnu::always_inline]] inline void read_through(const float* data, int64_t count) {
  constexpr int kStreams = 8;
  constexpr int64_t kStep = kStreams * static_cast<int64_t>(sizeof(Vector) / sizeof(float));
  Vector sums[kStreams] = {};
  for (int64_t i = 0; i + kStep <= count; i += kStep)
#pragma GCC unroll 8
    for (int c = 0; c < kStreams; ++c)
      sums[c] += *reinterpret_cast<const Vector*>(data + i + c * static_cast<int64_t>(sizeof(Vector) / sizeof(float)));
  float total = 0;
  for (int c = 0; c < kStreams; ++c) total += sums[c][0];
  sink = total;
}

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
  void (*read)(const float* data, int64_t count);
};

#ifdef __x86_64__
[[gnu::target("avx512f")]] void run_avx512(int64_t steps) { multiply_add<Floats16>(steps); }
[[gnu::target("avx2,fma")]] void run_avx2(int64_t steps) { multiply_add<Floats8>(steps); }
[[gnu::target("avx512f")]] void read_avx512(const float* data, int64_t count) { read_through<Floats16>(data, count); }
[[gnu::target("avx2,fma")]] void read_avx2(const float* data, int64_t count) { read_through<Floats8>(data, count); }
#endif
void run_portable(int64_t steps) { multiply_add<Floats4>(steps); }
void read_portable(const float* data, int64_t count) { read_through<Floats4>(data, count); }

Loop widest_loop() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return {16, &run_avx512, &read_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {8, &run_avx2, &read_avx2};
#endif
  return {4, &run_portable, &read_portable};
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
    pool.on_each(chunk, &loop);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best =
        std::max(best, 2.0 * kChains * loop.lanes * static_cast<double>(kSteps) * pool.workers() / took.count() * 1e-9);
  }
  return best;
}

double measured_read_bandwidth(ThreadPool& pool, int64_t bytes) {
  const int workers = pool.workers();
  const int64_t each = std::max<int64_t>(1024, bytes / 4 / workers / 128 * 128);
  AlignedBuffer buffer(each * 4 * workers);
  std::memset(buffer.data(), 0, static_cast<size_t>(each * 4 * workers));
  // Some 64 MB a round, so that waking the workers does not count.
  struct Task {
    Loop loop;
    const float* data;
    int64_t each, passes;
  } task{widest_loop(), static_cast<const float*>(buffer.data()), each,
         std::max<int64_t>(1, (int64_t{1} << 24) / each)};
  const HoneChunk chunk = [](int64_t begin, int64_t end, int32_t, void* closure) -> int32_t {
    const Task& t = *static_cast<Task*>(closure);
    for (int64_t part = begin; part < end; ++part)
      for (int64_t pass = 0; pass < t.passes; ++pass) t.loop.read(t.data + part * t.each, t.each);
    return HONE_OK;
  };
  double best = 0;
  for (int round = 0; round < 6; ++round) {
    const auto start = std::chrono::steady_clock::now();
    pool.on_each(chunk, &task);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, 4.0 * static_cast<double>(each * task.passes) * workers / took.count() * 1e-9);
  }
  return best;
}

}  // namespace hone
