// TLS of the HTTP port: the same files as the gRPC port's, read again when they change.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/gate/server_tls.h"

namespace hone::gate {

/// For one thread only.
class HttpTls {
 public:
  /// InvalidArgument when the files cannot be used. `clock` outlives it.
  static StatusOr<std::unique_ptr<HttpTls>> make(const ServerTls& files, const Clock& clock);

  /// For the next connection. Looks at the files every few seconds; files that cannot be used change nothing, and are
  /// logged. A client's certificate is asked for where a client CA is given; probes go without one.
  std::shared_ptr<boost::asio::ssl::context> context();

  /// Whether the certificate is one of `host`, a name or an IP address.
  bool is_for(const std::string& host) const;

 private:
  HttpTls(const ServerTls& files, const Clock& clock) : files_(files), clock_(clock) {}
  Status load();
  std::string stamp() const;

  const ServerTls files_;
  const Clock& clock_;
  std::shared_ptr<boost::asio::ssl::context> context_;
  std::string certificate_, stamp_;
  Clock::TimePoint looked_{};
};

/// The certificate the peer showed, as PEM; empty: none.
std::string peer_certificate(const SSL* connection);

}  // namespace hone::gate
