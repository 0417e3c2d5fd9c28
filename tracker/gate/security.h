// Protection of the tracker's ports; all empty: open, for a loopback address or a Unix socket.
#pragma once

#include <memory>

#include "tracker/gate/authority.h"
#include "tracker/gate/connection_gate.h"
#include "tracker/gate/rejections.h"
#include "tracker/gate/server_tls.h"

namespace hone::tracker {

struct Security {
  ServerTls tls;
  std::shared_ptr<Authority> authority;  ///< null: nothing is asked for
  ConnectionLimits connections;
  std::shared_ptr<Rejections> rejections;  ///< null: the server makes its own
};

}  // namespace hone::tracker
