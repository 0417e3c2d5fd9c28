// The details of one device or one session, for their pages. Times are seconds since 1970 unless a name says otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rpc/wire/messages/fleet_status.h"

namespace hone::tracker {

struct NotedEvent {
  double t = 0;
  std::string what;
};

struct HistoryPoint {
  double t = 0;  ///< when the bucket begins
  uint32_t done = 0, failed = 0;
  double busy_s = 0;
  double sentinel_seconds = 0;  ///< 0: none
  std::optional<double> temperature_c, clock_mhz;
};

struct DeviceDetail {
  wire::DeviceStatus device;
  double now = 0;       ///< seconds since 1970
  double bucket_s = 0;  ///< the width of the history's buckets now
  /// At most 360; the first of several without anything stands for all of them.
  std::vector<HistoryPoint> history;
  std::vector<NotedEvent> events;  ///< newest last
  std::map<std::string, uint64_t> by_status;
  wire::PhaseTimes phases;  ///< seconds of all jobs
};

struct SessionDetail {
  wire::SessionStatus session;
  std::vector<wire::CurvePoint> curve;
  std::vector<NotedEvent> events;
};

}  // namespace hone::tracker
