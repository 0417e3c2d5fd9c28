// A small HTTP server, plain or TLS (Boost.Beast stays in http*.cc and their internal headers).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rpc/gate/security.h"
#include "rpc/wire/access/address.h"

namespace hone::http {

struct HttpRequest {
  /// The part after the `?`, percent-decoded; the first value of a key that is given twice.
  std::map<std::string, std::string> query = {};
  std::string body = {};
  gate::Grant grant = {};  ///< the rights of its credentials
};

struct HttpReply {
  std::string content_type, body;
  int status = 200;
  std::shared_ptr<const void> held = nullptr;  ///< kept until the answer has been sent
};

/// Answers one path; called on the server's thread, so it must be quick.
using HttpPage = std::function<HttpReply(const HttpRequest&)>;

/// By path, for GET and HEAD; by `POST ` and the path for pages that change something.
using HttpPages = std::map<std::string, HttpPage>;

/// `a=1&b=x%20y` as a map; malformed parts are left out.
std::map<std::string, std::string> parse_query(std::string_view text);

struct HttpLimits {
  std::chrono::milliseconds timeout{10000};  ///< for the TLS handshake, to receive a request, and to send its answer
  size_t connections = 256;                  ///< at a time
  size_t per_peer = 64;                      ///< of them from one address (an IPv6 /64)
  /// For all of a connection beyond these, which gets /healthz and nothing else.
  std::chrono::milliseconds probe_timeout{2000};
  size_t probes = 64;           ///< such connections at a time: one more takes the place of another
  size_t probes_per_peer = 16;  ///< of them from one address
};

/// One thread serves all connections. The Host header must be a loopback name or address, the host listened on, a name
/// of the certificate, or, when a wildcard is listened on, any IP address: so that a web page elsewhere cannot read it
/// through DNS. Where `security` asks for tokens or certificates, every page but /healthz requires them
/// (`Authorization: Bearer TOKEN`, or Basic with the token as the password). A client that fills all connections cannot
/// keep others from /healthz: see ProbeSlots. A POST needs the role admin and the header `X-Hone: 1`, which no other
/// site's page can send; on an open port POST is not available.
class HttpServer {
 public:
  /// InvalidArgument, one line that names the address, when it cannot be had. `clock` outlives the server.
  static StatusOr<std::unique_ptr<HttpServer>> start(const wire::Address& listen, HttpPages pages, const Clock& clock,
                                                     gate::Security security = {}, HttpLimits limits = {});
  ~HttpServer();
  /// Where it listens, the port filled in.
  const wire::Address& address() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Whether a request with this Host header may be answered by a server that listens on `listen`. `is_ours`: further
/// names.
bool host_allowed(const std::string& header, const wire::Address& listen,
                  const std::function<bool(const std::string& host)>& is_ours = nullptr);

}  // namespace hone::http
