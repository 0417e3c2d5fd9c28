// The tracker's certificate, its key, and the certificates that may sign its peers': files that are read again when
// they change.
#pragma once

#include <string>

#include "base/status.h"

namespace hone::gate {

struct ServerTls {
  std::string certificate, key;  ///< paths of PEM files; empty: no TLS
  std::string client_ca;         ///< not empty: peers must show a certificate signed by one of these

  bool enabled() const { return !certificate.empty(); }
};

/// Reads and checks all of them. InvalidArgument, one line that names the flag and the file.
Status check_server_tls(const ServerTls& tls);

}  // namespace hone::gate
