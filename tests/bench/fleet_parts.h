// The parts of the fleet benchmark; each prints its lines of the table.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace hone::bench {

struct FleetFlags {
  bool plain = false;    ///< without TLS and tokens
  double seconds = 10;   ///< that a part which measures a rate takes
  uint32_t agents = 16;  ///< of the loopback part
  uint32_t idle_agents = 10000;
  uint32_t payload = 16 << 10;  ///< bytes of a job
  uint64_t seed = 1;
};

/// Leases a second of the Tracker class alone: 16 busy devices, then the same beside 10,000 idle ones that a job never
/// matches, and 10,000 that every job matches.
Status measure_in_process(const FleetFlags& flags);
/// Jobs a second through the tracker program with simulated agents, then the lease latency at half of that rate.
Status measure_loopback(const FleetFlags& flags);
/// Time to connect many idle agents, each over a connection of its own, and the tracker's memory then.
Status measure_idle(const FleetFlags& flags);
/// Shares of device seconds of eight sessions with weights 1 to 4, one flooding, on devices of different speed.
Status measure_fair(const FleetFlags& flags);
/// Seconds from the SIGKILL of a tracker, started again at once, to the next result; and from that of an agent to the
/// next lease of its job.
Status measure_recovery(const FleetFlags& flags);
/// Jobs that two tuners get done beside six that are killed at random moments, compared with the number without
/// these.
Status measure_killed(const FleetFlags& flags);

}  // namespace hone::bench
