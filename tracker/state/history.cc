#include "tracker/state/history.h"

#include <algorithm>

namespace hone::tracker {

void EventRing::add(Clock::TimePoint at, std::string what) {
  if (events_.size() >= kMost) events_.erase(events_.begin());
  events_.push_back({at, std::move(what)});
}

// The bucket of this moment, the last one.
DeviceHistory::Bucket& DeviceHistory::at(double t) {
  const auto index = [&] { return static_cast<uint32_t>(std::max(0.0, t) / width_); };
  while (index() >= kMost) {
    width_ *= 2;
    std::vector<Bucket> merged;
    for (const Bucket& bucket : buckets_) {
      if (merged.empty() || merged.back().index != bucket.index / 2) {
        merged.push_back(bucket);
        merged.back().index /= 2;
        continue;
      }
      Bucket& into = merged.back();
      into.done += bucket.done, into.failed += bucket.failed, into.busy_s += bucket.busy_s;
      if (bucket.sentinel_seconds > 0) into.sentinel_seconds = bucket.sentinel_seconds;
      if (bucket.temperature_c != kUnknown) into.temperature_c = bucket.temperature_c;
      if (bucket.clock_mhz != kUnknown) into.clock_mhz = bucket.clock_mhz;
    }
    buckets_ = std::move(merged);
  }
  if (!buckets_.empty() && buckets_.back().index >= index()) return buckets_.back();
  buckets_.push_back({});
  buckets_.back().index = index();
  return buckets_.back();
}

void DeviceHistory::answered(double t, bool ok, double sentinel_seconds) {
  Bucket& bucket = at(t);
  ++bucket.done;
  if (!ok) ++bucket.failed;
  if (sentinel_seconds > 0) bucket.sentinel_seconds = static_cast<float>(sentinel_seconds);
}

void DeviceHistory::busy(double t, double seconds) {
  if (seconds > 0) at(t).busy_s += static_cast<float>(seconds);
}

void DeviceHistory::readings(double t, const wire::DeviceHealth& health) {
  if (!health.temperature_c && !health.clock_mhz) return;
  Bucket& bucket = at(t);
  if (health.temperature_c) bucket.temperature_c = static_cast<float>(*health.temperature_c);
  if (health.clock_mhz) bucket.clock_mhz = static_cast<float>(*health.clock_mhz);
}

void LastMinute::add(double t, uint32_t jobs, double busy_s) {
  const auto index = static_cast<int64_t>(t / kSlot);
  Slot& slot = slots_[static_cast<size_t>(index % kSlots)];
  if (slot.index != index) slot = {index, 0, 0};
  slot.jobs += jobs;
  slot.busy_s += static_cast<float>(busy_s);
}

LastMinute::Rate LastMinute::rate(double t, double since) const {
  const auto now = static_cast<int64_t>(t / kSlot);
  double jobs = 0, busy = 0;
  for (const Slot& slot : slots_) {
    if (slot.index <= now - kSlots || slot.index > now) continue;
    jobs += slot.jobs, busy += static_cast<double>(slot.busy_s);
  }
  const double from = std::max(since, static_cast<double>(now - kSlots + 1) * kSlot);
  const double covered = std::max(t - from, 1.0);
  return {jobs / covered * 60, std::clamp(busy / covered, 0.0, 1.0)};
}

}  // namespace hone::tracker
