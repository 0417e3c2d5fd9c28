// Protection of the tracker's ports; all empty: open, for a loopback address or a Unix socket.
#pragma once

#include <memory>

#include "rpc/gate/authority.h"
#include "rpc/gate/connection_gate.h"
#include "rpc/gate/rejections.h"
#include "rpc/gate/server_tls.h"

namespace hone::gate {

struct Security {
  ServerTls tls;
  std::shared_ptr<Authority> authority;  ///< null: nothing is asked for
  ConnectionLimits connections;
  std::shared_ptr<Rejections> rejections;  ///< null: the server makes its own
};

}  // namespace hone::gate
