#include "rpc/agent/sentinel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

namespace hone::agent {
namespace {

constexpr int kCalls = 5;

// Independent chains of multiplications over 16 KB: bound by the core's frequency and by who shares the core, not by memory.
float sentinel(std::array<float, 4096>& data) {
  std::array<float, 16> sum{};
  for (int round = 0; round < 160; ++round)
    for (size_t i = 0; i < data.size(); i += sum.size())
      for (size_t lane = 0; lane < sum.size(); ++lane) sum[lane] = sum[lane] * 0.999F + data[i + lane];
  float total = 0;
  for (const float s : sum) total += s;
  return total;
}

// Makes the compiler believe that somebody looks at `value`.
void keep(float value) { asm volatile("" : : "r,m"(value) : "memory"); }

}  // namespace

double time_sentinel(const Clock& clock) {
  std::array<float, 4096> data;
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 7) - 3;
  keep(sentinel(data));
  std::array<double, kCalls> seconds;
  for (double& s : seconds) {
    const Clock::TimePoint start = clock.now();
    keep(sentinel(data));
    s = std::chrono::duration<double>(clock.now() - start).count();
  }
  std::nth_element(seconds.begin(), seconds.begin() + kCalls / 2, seconds.end());
  return seconds[kCalls / 2];
}

}  // namespace hone::agent
