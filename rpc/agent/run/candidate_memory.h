// How much memory each candidate of a job gets: they are alive side by side, and together take no more than the runner
// has for them.
#pragma once

#include <cstdint>
#include <vector>

#include "rpc/agent/pipe/protocol.h"

namespace hone::agent {

struct CandidateRoom {
  /// Memory that a candidate needs: its own tensors, copies of its output for the check, and the inputs that the
  /// candidates before it do not have.
  double tensor_bytes = 0;
  bool fits = false;      ///< beside those before it
  uint64_t headroom = 0;  ///< bytes that its process may take beyond its tensors
};

/// Bytes that a candidate gets beyond its tensors where there is room: for the small allocations of the runtime, not a
/// share of the machine.
inline constexpr uint64_t kMostHeadroom = uint64_t{256} << 20, kLeastHeadroom = uint64_t{16} << 20;

/// The limits of each candidate. `room`: bytes for all of them together; 0: no limit. `on_host`: outputs and workspaces
/// lie in the host's memory, too. `cold_bytes`: and copies of the constants (cold_bytes_of).
std::vector<CandidateRoom> divide_memory(const std::vector<BuiltModule>& candidates, uint64_t room, bool on_host,
                                         int64_t cold_bytes = 0);

}  // namespace hone::agent
