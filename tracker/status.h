// The state of devices and sessions as people see it, read from the tracker's parts.
#pragma once

#include <optional>
#include <string>

#include "rpc/gate/tenant.h"
#include "rpc/wire/messages/fleet_status.h"
#include "tracker/details.h"
#include "tracker/dispatch/job_queue.h"

namespace hone::tracker {

/// Reads and changes nothing. Made when it is needed: the arguments outlive it.
class StatusReader {
 public:
  StatusReader(const TrackerOptions& options, const Clock& clock, const TrackerCounts& counts, const JobBook& book,
               const Fleet& fleet, const JobQueue& queue)
      : options_(options), now_(clock.now()), counts_(counts), book_(book), fleet_(fleet), queue_(queue) {}

  // As Tracker's functions of these names.
  wire::FleetStatus status(const gate::Viewer& viewer) const;
  std::optional<DeviceDetail> device_detail(const std::string& key) const;
  std::optional<SessionDetail> session_detail(const std::string& id, const gate::Viewer& viewer) const;

 private:
  double wall(Clock::TimePoint then) const;
  double all_used() const;
  wire::DeviceStatus status_of(const Device& device) const;
  wire::SessionStatus status_of(const Session& session, double all_used, const gate::Viewer& viewer) const;
  std::vector<HistoryPoint> history_of(const Device& device) const;
  std::vector<NotedEvent> noted(const EventRing& ring) const;

  const TrackerOptions& options_;
  const Clock::TimePoint now_;
  const TrackerCounts& counts_;
  const JobBook& book_;
  const Fleet& fleet_;
  const JobQueue& queue_;
};

}  // namespace hone::tracker
