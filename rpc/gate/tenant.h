// The owner of a stream, and its limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace hone::gate {

/// Limits of one line of the token file; these defaults are for a port without tokens.
struct TenantLimits {
  int32_t priority = std::numeric_limits<int32_t>::max();  ///< highest of a session
  double weight = 1e6;                                     ///< largest of a session
  size_t sessions = std::numeric_limits<size_t>::max();    ///< at a time, those without a connection included
  size_t bytes = 0;  ///< of the tracker's memory; 0: the share that every token has (MemoryPlan)

  bool operator==(const TenantLimits&) const = default;
};

/// A line of the token file, or the subject of a certificate where there is no such file.
struct Tenant {
  std::string name = {};  ///< role and name; empty: the port is open, and all peers are the same
  TenantLimits limits = {};
  std::string host = {};  ///< of this stream, as peer_name() says it; for people
};

/// The reader of the fleet's state. Only a session's own tenant sees its subject; everybody else sees that it is there
/// and its share of the fleet.
struct Viewer {
  bool admin = false;       ///< is told everything, the uuids of sessions included
  std::string tenant = {};  ///< Tenant::name

  bool sees(const std::string& owner) const { return admin || tenant == owner; }
};

}  // namespace hone::gate
