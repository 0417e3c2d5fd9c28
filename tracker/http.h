// A small read-only HTTP server (Boost.Beast stays in http.cc).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rpc/wire/address.h"

namespace hone::tracker {

struct HttpRequest {
  std::map<std::string, std::string> query;  ///< what follows the `?`, percent-decoded; of a key given twice the first
};

struct HttpReply {
  std::string content_type, body;
  int status = 200;
};

/// Answers one path; called on the server's thread, so it must be quick.
using HttpPage = std::function<HttpReply(const HttpRequest&)>;

/// `a=1&b=x%20y` as a map; what is malformed is left out.
std::map<std::string, std::string> parse_query(std::string_view text);

struct HttpLimits {
  std::chrono::milliseconds timeout{10000};  ///< to receive a request, and to send its answer
  size_t connections = 64;                   ///< at a time; more are closed at once
};

/// One thread serves all connections. Only GET and HEAD of the given paths; the Host header must be a loopback name or address,
/// the host listened on, or, when that is a wildcard, any IP address: so that a web page elsewhere cannot read it through DNS.
class HttpServer {
 public:
  /// InvalidArgument, one line that names the address, when it cannot be had.
  static StatusOr<std::unique_ptr<HttpServer>> start(const wire::Address& listen, std::map<std::string, HttpPage> pages, HttpLimits limits = {});
  ~HttpServer();
  /// Where it listens, the port filled in.
  const wire::Address& address() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Whether a request with this Host header may be answered by a server that listens on `listen`.
bool host_allowed(const std::string& header, const wire::Address& listen);

}  // namespace hone::tracker
