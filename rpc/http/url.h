// Where an HTTP server is: http:// or https://, a host, a port, and a path before all of its pages.
#pragma once

#include <string>

#include "base/status.h"
#include "rpc/wire/access/address.h"

namespace hone::http {

struct Url {
  bool tls = false;
  wire::Address address = {};  ///< never a Unix socket; the scheme's port where none is given
  std::string path = {};       ///< empty, or begins with `/` and does not end with it

  /// InvalidArgument, one line that quotes no password, for another scheme, a user or a password (a token goes into a
  /// file), a query or a fragment, and for bytes that a URL cannot have.
  static StatusOr<Url> parse(const std::string& text);
  /// Reads back with parse(); without the scheme's own port.
  std::string text() const;
  /// The value of the header Host.
  std::string host_header() const;
  bool same_place(const Url& other) const { return tls == other.tls && address == other.address; }
  bool operator==(const Url&) const = default;
};

/// Whether a text begins as a URL of a server does: http:// or https://.
bool is_url(const std::string& text);

/// Percent-encodes every byte but letters, digits and `-._~`.
std::string url_encoded(const std::string& text);

}  // namespace hone::http
