#include "tracker/fleet/quarantine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log_fields.h"

namespace hone::tracker {

std::string ailment(const Device& device, Clock::TimePoint now, const Health::Limits& limits) {
  const Health& health = device.health;
  switch (device.mark) {
    case Mark::kQuarantined: {
      if (!device.mark_is_ours) return device.why;
      const double wait = std::max(0.0, std::chrono::duration<double>(health.wait_until() - now).count());
      return fmt::format("{}; the tracker tries it again in {:.0f} s", device.why, wait);
    }
    case Mark::kProbation:
      return fmt::format("{}; {} of the {} good answers that it needs", device.why, health.good_on_probation(),
                         limits.good);
    case Mark::kDraining: return "by hand";
    case Mark::kNone: break;
  }
  if (health.slow())
    return fmt::format("slow: its sentinel, a fixed piece of work, takes {:.2f}x as long as in quiet",
                       health.sentinel_seconds() / health.quiet_seconds());
  if (!device.readings.throttled.empty()) return "throttled: " + device.readings.throttled;
  return device.claim.open() ? "it has not proved its builder's key, so boards do not find it: is its agent up to date?"
                             : "";
}

Quarantine::Change Quarantine::answered(Device& device, const wire::Uuid& session, uint64_t session_ok,
                                        wire::ResultStatus status) {
  device.health.answered();
  using enum wire::ResultStatus;
  if (status == kInvalidConfig || status == kRejected || status == kCancelled) return Change::kNone;
  const bool good = status == kOk;
  if (good) device.health.went_well();
  const bool at_fault = !good && device.health.failed(session, session_ok, limits_);
  if (device.mark == Mark::kProbation) {
    switch (device.health.answered_on_probation(good, limits_)) {
      case Health::Probation::kGoesOn: return Change::kNone;
      case Health::Probation::kPassed: return end(device, Mark::kNone, "passed its probation");
      case Health::Probation::kFailed:
        return begin(device, "its jobs failed again on probation", /*for_strikes=*/false);
    }
  }
  if (!at_fault) return Change::kNone;
  return begin(device, fmt::format("{} jobs in a row failed here and went well elsewhere", device.health.failures()),
               /*for_strikes=*/false);
}

Quarantine::Change Quarantine::lost(Device& device, const JobKey& job) {
  device.health.strike(job);
  if (device.mark == Mark::kProbation) return begin(device, "it lost a lease on probation", /*for_strikes=*/true);
  if (device.health.strikes() < limits_.strikes) return Change::kNone;
  return begin(device, fmt::format("it lost its leases {} times in a row", device.health.strikes()),
               /*for_strikes=*/true);
}

std::vector<Device*> Quarantine::withdraw_strikes(const JobKey& job, const std::vector<std::string>& devices) {
  std::vector<Device*> back;
  for (const std::string& key : devices) {
    Device* device = registry_.device(key);
    if (!device || !device->health.withdraw_strike(job)) continue;
    if (device->mark != Mark::kQuarantined || !device->for_strikes || device->health.strikes() >= limits_.strikes)
      continue;
    device->health.take_quarantine_back();
    end(*device, Mark::kNone, "trusted again: other devices lost the same job");
    back.push_back(device);
  }
  return back;
}

Quarantine::Change Quarantine::restarted(Device& device) {
  device.health.start_afresh();
  if (device.mark != Mark::kQuarantined || !device.mark_is_ours) return Change::kNone;
  return end(device, Mark::kProbation, "on probation: its agent was restarted");
}

std::vector<Device*> Quarantine::begin_probations() {
  std::vector<Device*> tried;
  for (const std::string& key : std::vector<std::string>(quarantined_.begin(), quarantined_.end())) {
    Device& device = *registry_.device(key);
    if (!device.owner->connection || !device.health.may_be_tried(clock_.now())) continue;
    end(device, Mark::kProbation, "on probation");
    tried.push_back(&device);
  }
  return tried;
}

void Quarantine::watch(const Device& device) {
  if (device.mark == Mark::kQuarantined && device.mark_is_ours) quarantined_.insert(device.info.key);
}

Quarantine::Change Quarantine::begin(Device& device, std::string why, bool for_strikes) {
  if (device.mark != Mark::kNone && device.mark != Mark::kProbation) return Change::kNone;
  log::event(log::Level::warn, "a device is quarantined", {{"device", device.info.key}, {"why", why}});
  device.events.add(clock_.now(), "quarantined: " + why);
  ++counts_.quarantines;
  device.mark = Mark::kQuarantined;
  device.mark_is_ours = true;
  device.for_strikes = for_strikes;
  device.why = std::move(why);
  device.health.quarantined(clock_.now(), limits_);
  quarantined_.insert(device.info.key);
  shown_.update(device);
  return Change::kBegan;
}

Quarantine::Change Quarantine::end(Device& device, Mark mark, std::string_view event) {
  log::event(log::Level::warn, "a device's quarantine has ended", {{"device", device.info.key}, {"how", event}});
  device.events.add(clock_.now(), std::string(event));
  device.mark = mark;
  if (mark == Mark::kNone)
    device.why.clear(), device.mark_is_ours = device.for_strikes = false;
  else
    device.health.begin_probation();
  quarantined_.erase(device.info.key);
  shown_.update(device);
  return Change::kEnded;
}

}  // namespace hone::tracker
