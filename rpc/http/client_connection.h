// One connection of the HTTP client, used by one request at a time. Internal to it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/status.h"
#include "rpc/http/http_client.h"

namespace hone::http {

/// The part of TLS that all connections to a server share.
class ClientTls {
 public:
  /// InvalidArgument where a certificate or a key cannot be used.
  static StatusOr<std::unique_ptr<ClientTls>> make(const wire::Credentials& credentials);
  ~ClientTls();

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  explicit ClientTls(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A request as it is sent.
struct WireRequest {
  const ClientRequest& request;
  std::string path;  ///< of the server's root
  std::string host;  ///< the value of the header
  std::string token;
};

class ClientConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  /// Unavailable where it cannot be had until then. `tls` outlives it; null: plain.
  static StatusOr<std::unique_ptr<ClientConnection>> dial(const wire::Address& to, ClientTls* tls, Deadline deadline);
  virtual ~ClientConnection() = default;

  /// Unavailable: broken off, too late, or not HTTP. `untouched` then says whether nothing came back at all, so that
  /// the server may have closed the connection before it saw the request.
  virtual StatusOr<ClientAnswer> exchange(const WireRequest& request, Deadline deadline, bool* untouched) = 0;
  /// Whether it may be used for one more request.
  virtual bool reusable() const = 0;
};

}  // namespace hone::http
