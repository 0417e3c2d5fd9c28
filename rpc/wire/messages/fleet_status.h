// The fleet's status for people: devices, sessions, counts.
#pragma once

#include "rpc/wire/messages/messages.h"

namespace hone::wire {

struct DeviceStatus {
  DeviceInfo info;
  std::string state;  ///< idle, busy, draining, quarantined, probation, lost
  std::string agent;
  uint64_t done = 0, failed = 0;  ///< jobs answered; and how many of these failed at their first candidate
  uint32_t leased = 0;
  double sentinel_seconds = 0;
  double connected_s = 0;  ///< since the agent's connection; 0 when lost
  double lost_s = 0;       ///< since its agent's connection ended; 0 while there is one
  std::string why;         ///< why it is quarantined or on probation, or its ailment
  DeviceHealth health;
  double utilization = 0;  ///< share of the last minute it spent on jobs, 0 to 1
  double jobs_per_minute = 0;
};

/// The best so far of a session at one moment, as its summaries told it.
struct CurvePoint {
  double seconds = 0;  ///< since the session opened
  uint64_t trials = 0;
  double best_gflops = 0;
  double model_seconds = 0;  ///< ModelSummary::seconds; 0: there are none
  double model_share = 0;    ///< ModelSummary::share()

  bool operator==(const CurvePoint&) const = default;
};

struct SessionStatus {
  std::string id;  ///< its name for people; says nothing about the uuid
  Uuid session;    ///< for administrators; else zero: with the uuid one can open the session
  std::string title;
  double weight = 1;
  uint64_t queued = 0, leased = 0, done = 0;
  double oldest_s = 0;  ///< age of the oldest queued job
  Summary summary;
  bool connected = false;
  std::string device_key, target_kind, target;  ///< the session's wishes, as are the labels
  std::vector<std::string> labels;
  int32_t priority = 0;
  double device_seconds = 0;  ///< used by its jobs so far
  double share = 0;           ///< share of all sessions' device seconds in the last minutes, 0 to 1
  uint64_t poisoned = 0;      ///< jobs given up because they were lost on several devices
  std::vector<CurvePoint> curve;
  std::string owner;  ///< role and name of the token or certificate that opened it; empty: the port is open
  std::string host;   ///< its tuner's, as the tracker sees it: an address, or unix
  /// It is another tenant's, and who asks is no administrator: owner, host, title, summary, curve, labels, device_key
  /// and target are left out.
  bool withheld = false;
};

struct FleetStatus {
  std::string version;
  double uptime_s = 0;
  std::vector<DeviceStatus> devices;
  std::vector<SessionStatus> sessions;
  std::map<std::string, uint64_t> results;  ///< candidates by status since the start
  uint64_t queued = 0, leased = 0;          ///< jobs of all sessions
  double oldest_s = 0;                      ///< age of the oldest queued job
  double now = 0;                           ///< seconds since 1970, by the tracker's clock
};

}  // namespace hone::wire
