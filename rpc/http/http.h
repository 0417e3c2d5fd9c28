// A small HTTP server, plain or TLS (Boost.Beast stays in http*.cc and their internal headers).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/status.h"
#include "rpc/gate/security.h"
#include "rpc/wire/access/address.h"

namespace hone::http {

struct HttpRequest {
  /// The part after the `?`, percent-decoded; the first value of a key that is given twice.
  std::map<std::string, std::string> query = {};
  std::string body = {};
  gate::Grant grant = {};  ///< the rights of its credentials

  /// A value of the query; empty: not given.
  std::string value(const std::string& key) const;
};

struct HttpReply {
  std::string content_type, body;
  int status = 200;
  std::shared_ptr<const void> held = nullptr;  ///< kept until the answer has been sent
  std::string file = {};  ///< not empty: the path of a file, sent in place of `body`, and removed when it is open
};

/// The page of one path.
struct HttpPage {
  using Answer = std::function<HttpReply(const HttpRequest&)>;

  /// Answers on the server's thread, so it must be quick; asks for small bodies and, of a POST, for the role admin.
  template <class F>
  requires std::is_invocable_r_v<HttpReply, F&, const HttpRequest&> HttpPage(F answer)
      : answer(std::move(answer)) {}  // NOLINT(google-explicit-constructor): pages are written as lambdas

  Answer answer;
  bool may_block = false;  ///< answers on a worker, many at a time
  uint64_t most_body = kSmallBody;
  std::optional<gate::Role> role = std::nullopt;  ///< nothing: any for GET, admin for POST
  bool open_too = false;                          ///< a POST that may be asked for on an open port, too
  std::string advice = {};                        ///< of a POST: what to do where it may not; "; use …"

  static constexpr uint64_t kSmallBody = uint64_t{1} << 10;
};

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
  size_t workers = 4;           ///< threads for pages that may block
  size_t in_flight = 64;        ///< requests of such pages at a time; further ones are told to come again (503)
  size_t per_tenant = 32;       ///< of them from one tenant (429)
};

/// One thread serves all connections, and a few workers the pages that may block. The Host header must be a loopback
/// name or address, the host listened on, a name of the certificate, or, when a wildcard is listened on, any IP
/// address: so that a web page elsewhere cannot read it through DNS. Where `security` asks for tokens or certificates,
/// every page but /healthz requires them
/// (`Authorization: Bearer TOKEN`, or Basic with the token as the password). A client that fills all connections cannot
/// keep others from /healthz: see ProbeSlots. Credentials are judged before a body is read. A POST needs the header
/// `X-Hone: 1`, which no other site's page can send, and the role that its page asks for.
class HttpServer {
 public:
  /// InvalidArgument, one line that names the address, when it cannot be had. `clock` outlives the server.
  static StatusOr<std::unique_ptr<HttpServer>> start(const wire::Address& listen, HttpPages pages, const Clock& clock,
                                                     gate::Security security = {}, HttpLimits limits = {});
  /// Ends all connections; pages that are being answered are waited for.
  ~HttpServer();
  /// Listens no more, and returns when what was asked before is answered, or after `grace`.
  void drain(std::chrono::milliseconds grace);
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
