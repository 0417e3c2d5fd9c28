// The flags of the tracker program: see cli.md.
#pragma once

#include <string>

#include "base/status.h"
#include "rpc/gate/server_tls.h"
#include "rpc/wire/access/address.h"
#include "rpc/wire/access/credentials.h"

namespace hone::tracker {

/// Flags of a tracker that serves.
struct ServeFlags {
  std::string listen = "127.0.0.1:9190", http = "127.0.0.1:9191";
  gate::ServerTls tls;
  std::string token_file, state;
  double lease_s = 15, grace_s = 60;
  size_t max_connections = 0;  ///< 0: as many as open files allow, 16384 at most
  size_t max_peer_connections = 1024;
  size_t memory_budget = 0;  ///< MiB; 0: default_memory_budget()
  bool insecure = false, exit_with_parent = false, log_json = false, allow_fake = false;
};

/// Flags of a question to a tracker that serves.
struct AskFlags {
  std::string tracker, name, device;
  wire::CredentialFiles credentials;
  bool insecure = false, json = false;
};

/// The error is bad usage and names `flag`.
StatusOr<wire::Address> parse_address(const std::string& text, const std::string& flag);

}  // namespace hone::tracker
