#include "tests/e2e/faults/fault_plan.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace hone::e2e {
namespace {

struct Share {
  FaultKind kind;
  size_t of_hundred;
  double shortest_s, longest_s;  // times are drawn so that short ones are as frequent as long ones (log-uniform)
};

// The longest outlast the run's leases; half-open connections may last until keepalive notices (20 s).
constexpr Share kShares[] = {
    {FaultKind::kKill, 16, 0.01, 1.5},    {FaultKind::kStop, 14, 0.05, 6},         {FaultKind::kDrop, 18, 0.01, 0.01},
    {FaultKind::kDelay, 12, 0.3, 4},      {FaultKind::kDuplicate, 14, 0.01, 0.01}, {FaultKind::kHalfOpen, 10, 0.5, 25},
    {FaultKind::kSlowReader, 10, 0.3, 6}, {FaultKind::kFullDisk, 6, 0.3, 3},
};

}  // namespace

std::string_view name(FaultKind kind) {
  constexpr std::string_view kNames[] = {"kill",      "stop",      "drop",        "delay",
                                         "duplicate", "half-open", "slow reader", "full disk"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<Fault> plan_faults(uint64_t seed, size_t count, std::chrono::milliseconds mean_gap,
                               std::chrono::milliseconds longest) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(1.0 / static_cast<double>(mean_gap.count()));
  std::vector<const Share*> kinds;
  for (const Share& share : kShares) kinds.insert(kinds.end(), share.of_hundred, &share);
  std::vector<Fault> plan;
  double at = 0;
  for (size_t i = 0; i < count; ++i) {
    // Each kind has its share of every hundred.
    if (i % kinds.size() == 0) std::shuffle(kinds.begin(), kinds.end(), random);
    const Share& share = *kinds[i % kinds.size()];
    at += gap(random);
    const double time =
        share.shortest_s * std::pow(share.longest_s / share.shortest_s, std::uniform_real_distribution<>(0, 1)(random));
    plan.push_back({std::chrono::milliseconds(static_cast<int64_t>(at)), share.kind,
                    std::min(longest, std::chrono::milliseconds(static_cast<int64_t>(time * 1000))), random()});
  }
  return plan;
}

}  // namespace hone::e2e
