// Options of a tracker; tests shorten the times.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tracker/state/health.h"
#include "tracker/state/kept_quarantine.h"

namespace hone::tracker {

/// How sessions share the devices.
struct FairOptions {
  double memory_s = 120;  ///< use is forgotten with this time constant, so that no debt lasts for ever
  double credit_s = 0.5;  ///< device seconds per weight that a session without queued jobs may save up
  /// Share of the device seconds that go to sessions of lower priorities while higher ones have jobs queued.
  double lower_share = 1. / 16;
};

struct TrackerOptions {
  std::chrono::milliseconds heartbeat{3000};     ///< agents send one at least this often
  std::chrono::milliseconds lease{15000};        ///< a lease not extended for this long is lost
  std::chrono::milliseconds agent_grace{10000};  ///< a disconnected agent keeps its leases this long at most
  /// A disconnected session keeps its jobs; leases of unknown sessions are kept.
  std::chrono::milliseconds session_grace{60000};
  /// An agent waits this long for a module that a session sent before and must send again.
  std::chrono::milliseconds blob_timeout{5000};
  std::chrono::minutes forget_lost{10};  ///< a lost agent is shown this long
  uint32_t window = 256;                 ///< jobs a session may have outstanding
  uint32_t max_attempts = 3;             ///< leases of a job lost before the job is device_lost
  Health::Limits health;                 ///< when a device is quarantined, and how it comes back
  /// Bytes that peers may make it hold; MemoryPlan says how they are divided.
  size_t memory = size_t{2} << 30;
  bool allow_fake = false;  ///< take FakePayload jobs: tests, benchmarks
  size_t max_agents = 16384, max_devices = 65536, max_sessions = 1024;
  KeptQuarantine quarantined;  ///< by hand, before the start and from then on
  FairOptions fair;
  uint64_t first_epoch = 1;  ///< above all epochs of earlier runs: the time of the start
  /// The wall clock when the tracker starts, in seconds since 1970: for people.
  double started_unix_s = 0;
};

}  // namespace hone::tracker
