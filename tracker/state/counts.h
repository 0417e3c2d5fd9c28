// Figures for /metrics that the status does not hold.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace hone::tracker {

/// One for a tracker; each of its parts adds to it.
struct TrackerCounts {
  /// Upper bounds, in seconds, of the histograms' buckets; one more bucket follows for larger values.
  static constexpr std::array<double, 12> kLatencyBounds = {0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
  struct Histogram {
    std::array<uint64_t, kLatencyBounds.size() + 1> counts{};
    double sum = 0;
    void add(double seconds) {
      const auto bucket = std::lower_bound(kLatencyBounds.begin(), kLatencyBounds.end(), seconds);
      ++counts[static_cast<size_t>(bucket - kLatencyBounds.begin())];
      sum += seconds;
    }
  };
  Histogram latency;                   ///< submission to lease
  std::array<uint64_t, 11> results{};  ///< candidates by ResultStatus
  uint64_t leases = 0;                 ///< granted
  uint64_t expired = 0;                ///< lost by deadline
  uint64_t requeued = 0;               ///< jobs that went back into the queue
  uint64_t stale = 0;                  ///< results dropped: old epoch, cancelled, sent twice
  uint64_t adopted = 0;                ///< leases and results taken over from an earlier run
  uint64_t taken_back = 0;             ///< leases asked back from slow devices
  uint64_t refused = 0;                ///< connections refused
  uint64_t poisoned = 0;               ///< jobs given up because several devices lost them
  uint64_t quarantines = 0;            ///< of devices, by the tracker
  /// The other phases of answered jobs, in seconds: transfer, build, check, run, reference. Queue is the latency above.
  static constexpr std::array<const char*, 5> kPhases = {"transfer", "build", "check", "run", "reference"};
  std::array<Histogram, kPhases.size()> phases;
  size_t blob_bytes = 0, blobs = 0, unfinished_leases = 0;
  size_t memory_used = 0, memory_most = 0;  ///< bytes taken from the memory budget, and its size
  /// Peers turned away, by reason; the server fills in this and the fields below.
  std::map<std::string, uint64_t> rejected = {};
  size_t connections = 0;                                ///< on the port of agents and sessions
  uint64_t cut = 0;                                      ///< streams that ended without a goodbye
  std::map<std::string, int64_t> certificate_ends = {};  ///< seconds since 1970, by its holder: server, client_ca
};

}  // namespace hone::tracker
