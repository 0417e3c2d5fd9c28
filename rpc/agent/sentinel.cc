#include "rpc/agent/sentinel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace hone::agent {
namespace {

constexpr int kTurns = 4;
constexpr int kRounds = 24;
constexpr size_t kFloats = 2048;  // 8 KB: leaves most of a level-1 cache to the candidate

typedef float Lanes __attribute__((vector_size(16)));
constexpr size_t kChains = 12;

// Enough independent chains to keep a core's arithmetic and load ports busy: a sibling hyperthread that wants them too takes its share,
// which work bound by latency would not feel.
float work(const std::array<float, kFloats>& data) {
  Lanes sum[kChains] = {};
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i + 4 * kChains <= kFloats; i += 4 * kChains) {
      for (size_t c = 0; c < kChains; ++c) {
        Lanes x;
        __builtin_memcpy(&x, &data[i + 4 * c], sizeof x);
        sum[c] = sum[c] * 0.999F + x;
      }
    }
  }
  Lanes total{};
  for (const Lanes s : sum) total += s;
  return total[0] + total[1] + total[2] + total[3];
}

// Makes the compiler believe that somebody looks at `value`.
void keep(float value) { asm volatile("" : : "r,m"(value) : "memory"); }

double time_here(const std::array<float, kFloats>& data) {
  double best = std::numeric_limits<double>::max();
  for (int turn = 0; turn <= kTurns; ++turn) {
    const auto start = SteadyClock().now();
    keep(work(data));
    const double seconds = std::chrono::duration<double>(SteadyClock().now() - start).count();
    if (turn > 0) best = std::min(best, seconds);  // the first fetches the data
  }
  return best;
}

struct Reading {
  std::array<float, kFloats> data;
  std::vector<double> seconds;
};

int32_t time_chunk(int64_t begin, int64_t end, int32_t, void* closure) {
  Reading& reading = *static_cast<Reading*>(closure);
  for (int64_t worker = begin; worker < end; ++worker) reading.seconds[static_cast<size_t>(worker)] = time_here(reading.data);
  return HONE_OK;
}

}  // namespace

std::vector<double> time_sentinel(ThreadPool* pool) {
  Reading reading;
  for (size_t i = 0; i < kFloats; ++i) reading.data[i] = static_cast<float>(i % 7) - 3;
  const int workers = pool ? pool->workers() : 1;
  reading.seconds.resize(static_cast<size_t>(workers));
  if (pool)
    pool->parallel_for(&time_chunk, &reading, workers, workers);  // as many iterations as workers: one each
  else
    time_chunk(0, 1, 0, &reading);
  return reading.seconds;
}

}  // namespace hone::agent
