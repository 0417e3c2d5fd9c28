#include "rpc/agent/run/quiet_level.h"

#include <algorithm>

namespace hone::agent {
namespace {

// About 200 trials of a session.
constexpr size_t kKept = 1024;
constexpr size_t kFewest = 12;
constexpr size_t kSortEvery = 16;
constexpr double kQuantile = 0.2;
// On shared hosts other tenants move the clock by up to 7% both ways; a busy sibling hyperthread costs 30% and more.
constexpr double kSlack = 1.15;

}  // namespace

void QuietLevel::take(Core& core, double seconds) {
  if (core.recent.size() < kKept)
    core.recent.push_back(seconds);
  else
    core.recent[core.next++ % kKept] = seconds;
  if (core.recent.size() > kFewest && ++core.since_sorted < kSortEvery) return;
  core.since_sorted = 0;
  std::vector<double> sorted = core.recent;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(kQuantile * static_cast<double>(sorted.size()));
  std::nth_element(sorted.begin(), at, sorted.end());
  core.level = *at;
}

bool QuietLevel::add(const std::vector<double>& reading) {
  if (cores_.size() < reading.size()) cores_.resize(reading.size());
  bool quiet = true;
  for (size_t i = 0; i < reading.size(); ++i) {
    Core& core = cores_[i];
    if (core.recent.size() >= kFewest && reading[i] > kSlack * core.level) quiet = false;
    take(core, reading[i]);
  }
  return quiet;
}

bool QuietLevels::add(const std::vector<double>& cores, const std::vector<double>& tiles) {
  const bool is_quiet = cores_[cores.size()].add(cores);
  return tiles_[tiles.size()].add(tiles) && is_quiet;
}

void WaitBudget::earn(double timed_seconds) { seconds_ = std::min(kLongest, seconds_ + kShare * timed_seconds); }

void WaitBudget::spend(double waited_seconds) { seconds_ = std::max(0.0, seconds_ - waited_seconds); }

}  // namespace hone::agent
