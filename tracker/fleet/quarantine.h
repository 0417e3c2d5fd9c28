// Which devices are set aside because of their answers and losses, and how they come back. Health has the facts about a
// device; this class acts on them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tracker/fleet/device_registry.h"
#include "tracker/fleet/shown_devices.h"
#include "tracker/state/counts.h"

namespace hone::tracker {

/// The device's ailment, in one line for people; empty when it is well.
std::string ailment(const Device& device, Clock::TimePoint now, const Health::Limits& limits);

/// Not thread-safe. Sets a device's mark, notes it among the device's events and in the sessions' lists. The caller
/// brings its leases and its place in the matching up to date when a function says that the mark has changed.
class Quarantine {
 public:
  enum class Change {
    kNone,
    kBegan,  ///< it is quarantined: it gets no leases, and gives back leases that it has not begun
    kEnded,  ///< it may have leases again, on probation or without conditions
  };

  /// The arguments outlive it.
  Quarantine(const Health::Limits& limits, const Clock& clock, DeviceRegistry& registry, ShownDevices& shown,
             TrackerCounts& counts)
      : limits_(limits), clock_(clock), registry_(registry), shown_(shown), counts_(counts) {}

  /// The device answered a job of `session`, whose jobs went well `session_ok` times so far. A device whose jobs fail
  /// in a row, while others manage jobs of the same session, is at fault itself.
  [[nodiscard]] Change answered(Device& device, const wire::Uuid& session, uint64_t session_ok,
                                wire::ResultStatus status);
  /// The device lost the lease of this job, and the job has cost no other device one.
  [[nodiscard]] Change lost(Device& device, const JobKey& job);
  /// The job is lost wherever it goes, so it is not held against the devices. Returns the devices that this frees.
  [[nodiscard]] std::vector<Device*> withdraw_strikes(const JobKey& job, const std::vector<std::string>& devices);
  /// Its agent was started again and had held nothing: the device's ailment may have been mended.
  [[nodiscard]] Change restarted(Device& device);
  /// Devices that have waited long enough are tried with one lease at a time: returns them.
  [[nodiscard]] std::vector<Device*> begin_probations();

  /// The device was added; it may have been quarantined before.
  void watch(const Device& device);
  /// It is about to be forgotten, or people set its mark.
  void unwatch(const std::string& key) { quarantined_.erase(key); }

 private:
  Change begin(Device& device, std::string why, bool for_strikes);
  Change end(Device& device, Mark mark, std::string_view event);

  const Health::Limits& limits_;
  const Clock& clock_;
  DeviceRegistry& registry_;
  ShownDevices& shown_;
  TrackerCounts& counts_;
  std::set<std::string> quarantined_;  // devices that may come back by themselves
};

}  // namespace hone::tracker
