// How much memory each candidate of a job gets: they are alive side by side, and together take no more than the runner
// has for them.
#pragma once

#include <cstdint>
#include <vector>

#include "rpc/agent/pipe/protocol.h"

namespace hone::agent {

struct CandidateRoom {
  /// What it needs: its own tensors, copies of its output for the check, and inputs that the first candidate does not
  /// have.
  double tensor_bytes = 0;
  bool fits = false;      ///< beside those before it
  uint64_t headroom = 0;  ///< bytes that its process may take beyond its tensors
};

/// Bytes beyond its tensors that a candidate gets where there is room: the runtime's own small things. Not a share of
/// the machine.
inline constexpr uint64_t kMostHeadroom = uint64_t{256} << 20, kLeastHeadroom = uint64_t{16} << 20;

/// What each candidate may take. `room`: bytes for all of them; 0: as much as they like. `on_host`: outputs and
/// workspaces lie in the host's memory, too.
std::vector<CandidateRoom> divide_memory(const std::vector<BuiltModule>& candidates, uint64_t room, bool on_host);

}  // namespace hone::agent
