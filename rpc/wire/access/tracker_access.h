// The tracker that a program dials, and its identity there: from its flags, else from the fleet file.
#pragma once

#include <string>

#include "base/status.h"
#include "rpc/wire/access/address.h"
#include "rpc/wire/access/credentials.h"

namespace hone::wire {

/// Where people's programs look for a tracker that nothing names.
inline constexpr char kUsualTracker[] = "127.0.0.1:9190";

struct TrackerAccess {
  Address tracker;
  Credentials credentials;
  std::string agent;  ///< the agent whose fleet file it is; empty: nobody's, or not an agent's
};

/// `tracker` is the value of --tracker; empty: not given, then the first of the fleet file, or kUsualTracker. Each flag
/// that is given wins over the file, but the file's contents go to no host that the file does not name:
/// InvalidArgument, one line that names the flag, for that, for files as load_credentials() and load_fleet_file() have
/// it, and as check_protected() has it.
StatusOr<TrackerAccess> tracker_access(const std::string& tracker, const CredentialFiles& files, bool insecure);

}  // namespace hone::wire
