// `tracker init-tls DIR`: what a fleet needs to speak TLS, and the commands that use it.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"

namespace hone::tracker {

struct InitTlsFlags {
  std::string folder;
  std::vector<std::string> hosts;   ///< names and addresses the tracker is dialled at, besides this machine's own
  std::vector<std::string> agents;  ///< names of agents
  std::vector<std::string> tuners;  ///< names of tuners, each with a token of its own; none: one for all
  bool renew = false;               ///< certificates anew, and nothing else
};

/// Writes a CA, the tracker's certificate, certificates and tokens of an admin, each tuner and each agent into the
/// folder, which is made when it is missing, and prints the commands to `out`. Where a CA is there already, adds the
/// agents and the tuners to it, overwriting nothing, or renews. Leaves the process's umask at 077.
Status init_tls(const InitTlsFlags& flags, std::ostream& out);

}  // namespace hone::tracker
