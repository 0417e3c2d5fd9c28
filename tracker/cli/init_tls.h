// `tracker init-tls DIR`: makes the files that a fleet needs to speak TLS, and prints the commands that use them.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"

namespace hone::tracker {

struct InitTlsFlags {
  std::string folder;
  std::vector<std::string> hosts;   ///< names and addresses at which the tracker is dialled, beside this machine's own
  std::vector<std::string> agents;  ///< names of agents
  std::vector<std::string> tuners;  ///< names of tuners, each with a token of its own; none: one for all
  uint16_t port = 0;                ///< of the tracker; 0: 9190, or the port in the folder's files
  std::string tophub;               ///< URL of a team's tophub, for the fleet files; empty: none, or as they have it
  bool renew = false;               ///< certificates anew, and nothing else
};

/// Writes a CA, the tracker's certificate, certificates and tokens of an admin, each tuner and each agent into the
/// folder, which is made when it is missing, each of these also as one file (rpc/wire/access/fleet_file.h), and prints
/// the commands to `out`. Where a CA is there already, adds the agents and the tuners to it, overwriting nothing, or
/// renews. A tophub's host becomes a name of the tracker's certificate, which both services show. Leaves the process's
/// umask at 077.
Status init_tls(const InitTlsFlags& flags, std::ostream& out);

}  // namespace hone::tracker
