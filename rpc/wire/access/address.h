// Where a program listens or dials: HOST:PORT or unix:PATH, and the rule that only local ones go without protection.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hone::wire {

struct Address {
  std::string host;   ///< a name, an IPv4 address or an IPv6 address (without brackets); empty for a Unix socket
  uint16_t port = 0;  ///< 0 when listening: the kernel chooses
  std::string path;   ///< of a Unix socket; empty for TCP

  /// `HOST:PORT`, `[V6]:PORT` or `unix:PATH`. The error is one line that quotes `text` and says what is allowed.
  static StatusOr<Address> parse(const std::string& text);

  bool is_unix() const { return !path.empty(); }
  /// A Unix socket, localhost, 127.0.0.0/8 or ::1.
  bool is_local() const;
  /// Reads back with parse(); also the name gRPC dials and listens on.
  std::string text() const;
  bool operator==(const Address&) const = default;
};

/// Whether `host` is an IPv4 or IPv6 address, not a name.
bool is_ip(const std::string& host);

/// The protection of an address that is listened on.
struct Protection {
  bool encrypted = false, authenticated = false;
};

/// An error naming `flag` unless `address` is local, or guarded by both, or `insecure` was given: other hosts could
/// read and forge the messages.
Status check_exposure(const Address& address, Protection protection, bool insecure, const std::string& flag);

}  // namespace hone::wire
