// Which faults happen when: drawn from a seed, the same every time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hone::e2e {

enum class FaultKind { kKill, kStop, kDrop, kDelay, kDuplicate, kHalfOpen, kSlowReader, kFullDisk };

std::string_view name(FaultKind kind);

struct Fault {
  std::chrono::milliseconds at;  ///< since the run began
  FaultKind kind;
  std::chrono::milliseconds time;  ///< how long it lasts
  uint64_t draw;                   ///< decides whom it hits and how, among those there are at that moment
};

/// `count` faults, by time; the gaps between them are exponential with this mean, and none lasts longer than `longest`.
std::vector<Fault> plan_faults(uint64_t seed, size_t count, std::chrono::milliseconds mean_gap,
                               std::chrono::milliseconds longest);

}  // namespace hone::e2e
