// What the tracker tells people: devices, sessions, counts.
#pragma once

#include "rpc/wire/messages.h"

namespace hone::wire {

struct DeviceStatus {
  DeviceInfo info;
  std::string state;  ///< idle, busy, draining, quarantined, lost
  std::string agent;
  uint64_t done = 0, failed = 0;  ///< jobs answered; of these, with a first candidate that is not ok
  uint32_t leased = 0;
  double sentinel_seconds = 0;
  double connected_s = 0;  ///< since the agent's connection; 0 when lost
};

struct SessionStatus {
  Uuid session;
  std::string title;
  double weight = 1;
  uint64_t queued = 0, leased = 0, done = 0;
  double oldest_s = 0;  ///< age of the oldest queued job
  Summary summary;
  bool connected = false;
};

struct FleetStatus {
  std::string version;
  double uptime_s = 0;
  std::vector<DeviceStatus> devices;
  std::vector<SessionStatus> sessions;
  std::map<std::string, uint64_t> results;  ///< candidates by status since the start
};

}  // namespace hone::wire
