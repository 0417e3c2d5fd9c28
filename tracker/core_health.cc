// What answers, losses and readings say about a device, and what follows.
#include <fmt/format.h>

#include <algorithm>

#include "base/log_fields.h"
#include "tracker/core.h"

namespace hone::tracker {
namespace {

void add(wire::PhaseTimes& sum, const wire::PhaseTimes& p) {
  sum.queue += p.queue, sum.transfer += p.transfer, sum.build += p.build, sum.check += p.check;
  sum.run += p.run, sum.reference += p.reference, sum.idle += p.idle;
}

}  // namespace

void Tracker::note(Device& device, std::string event) { device.events.add(clock_.now(), std::move(event)); }

// The device's record of what it did.
void Tracker::note_answer(Device& device, const wire::JobResult& result, double device_seconds) {
  const auto now = clock_.now();
  const wire::ResultStatus status = result.candidates.front().status;
  device.progress = now;
  device.mean_seconds += 0.2 * (device_seconds - device.mean_seconds);
  ++device.done;
  if (status != wire::ResultStatus::kOk) ++device.failed;
  ++device.by_status[static_cast<size_t>(status)];
  add(device.phases, result.phases);
  device.history.answered(since_start(now), status == wire::ResultStatus::kOk, result.sentinel_after);
  device.last_minute.add(since_start(now), 1, 0);
  if (result.sentinel_after > 0 && device.health.sentinel(result.sentinel_after))
    note(device, device.health.slow() ? ailment(device) : "as fast as before again");
}

// A device whose jobs fail in a row, while others manage jobs of the same session, is at fault itself.
void Tracker::judge(Device& device, const Session& session, wire::ResultStatus status) {
  device.health.answered();
  using enum wire::ResultStatus;
  if (status == kInvalidConfig || status == kRejected || status == kCancelled) return;
  const bool good = status == kOk;
  if (good) device.health.went_well();
  const bool at_fault = !good && device.health.failed(session.spec.session, session.ok, options_.health);
  if (device.mark == Mark::kProbation) {
    switch (device.health.answered_on_probation(good, options_.health)) {
      case Health::Probation::kGoesOn: return;
      case Health::Probation::kPassed: return end_quarantine(device, Mark::kNone, "passed its probation");
      case Health::Probation::kFailed:
        return quarantine(device, "its jobs failed again on probation", /*for_strikes=*/false);
    }
  }
  if (at_fault)
    quarantine(device, fmt::format("{} jobs in a row failed that went well elsewhere", device.health.failures()),
               false);
}

// The device lost the lease of this job, and the job has cost no other device one.
void Tracker::strike(Device& device, const JobKey& job) {
  device.health.strike(job);
  if (device.mark == Mark::kProbation) return quarantine(device, "it lost a lease on probation", /*for_strikes=*/true);
  if (device.health.strikes() >= options_.health.strikes)
    quarantine(device, fmt::format("it lost its leases {} times in a row", device.health.strikes()), true);
}

// The job is lost wherever it goes: that is not held against the devices.
void Tracker::withdraw_strikes(const JobKey& job, const std::vector<std::string>& devices) {
  for (const std::string& key : devices) {
    Device* device = registry_.device(key);
    if (!device || !device->health.withdraw_strike(job)) continue;
    if (device->mark != Mark::kQuarantined || !device->for_strikes ||
        device->health.strikes() >= options_.health.strikes)
      continue;
    device->health.take_quarantine_back();
    end_quarantine(*device, Mark::kNone, "back: the job that it lost is lost elsewhere too");
  }
}

void Tracker::quarantine(Device& device, std::string why, bool for_strikes) {
  if (device.mark != Mark::kNone && device.mark != Mark::kProbation) return;
  log::event(log::Level::warn, "a device is quarantined", {{"device", device.info.key}, {"why", why}});
  note(device, "quarantined: " + why);
  ++counts_.quarantines;
  device.mark = Mark::kQuarantined;
  device.mark_is_ours = true;
  device.for_strikes = for_strikes;
  device.why = std::move(why);
  device.health.quarantined(clock_.now(), options_.health);
  quarantined_.insert(device.info.key);
  ask_all_back(device);
  refresh(device);
  show(device);
}

void Tracker::end_quarantine(Device& device, Mark mark, std::string_view event) {
  log::event(log::Level::warn, "a device's quarantine has ended", {{"device", device.info.key}, {"how", event}});
  note(device, std::string(event));
  device.mark = mark;
  if (mark == Mark::kNone)
    device.why.clear(), device.mark_is_ours = device.for_strikes = false;
  else
    device.health.begin_probation();
  quarantined_.erase(device.info.key);
  refresh(device);
  show(device);
}

// Devices that have waited long enough are tried with one lease at a time.
void Tracker::begin_probations() {
  for (const std::string& key : std::vector<std::string>(quarantined_.begin(), quarantined_.end())) {
    Device& device = *registry_.device(key);
    if (device.owner->connection && device.health.may_be_tried(clock_.now()))
      end_quarantine(device, Mark::kProbation, "on probation");
  }
}

void Tracker::take_readings(Device& device, wire::DeviceHealth& health) {
  if (health.throttled != device.readings.throttled)
    note(device, health.throttled.empty() ? "not throttled any more" : "throttled: " + health.throttled);
  device.history.readings(since_start(clock_.now()), health);
  device.readings = std::move(health);
}

// One line for people; empty when it is well.
std::string Tracker::ailment(const Device& device) const {
  const Health& health = device.health;
  switch (device.mark) {
    case Mark::kQuarantined: {
      if (!device.mark_is_ours) return device.why;
      const double wait = std::max(0.0, std::chrono::duration<double>(health.wait_until() - clock_.now()).count());
      return fmt::format("{}; tried again in {:.0f} s", device.why, wait);
    }
    case Mark::kProbation:
      return fmt::format("{}; {} of {} good answers", device.why, health.good_on_probation(), options_.health.good);
    case Mark::kDraining: return "by hand";
    case Mark::kNone: break;
  }
  if (health.slow())
    return fmt::format("slow: its sentinel takes {:.2f}x its quiet level",
                       health.sentinel_seconds() / health.quiet_seconds());
  return device.readings.throttled.empty() ? "" : "throttled: " + device.readings.throttled;
}

}  // namespace hone::tracker
