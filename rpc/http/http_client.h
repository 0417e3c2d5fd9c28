// An HTTP client, plain or TLS, for a few servers that a user named (Boost.Beast stays in http*.cc).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "rpc/http/url.h"
#include "rpc/wire/access/credentials.h"

namespace hone::http {

struct ClientOptions {
  /// `ca` empty: those that the system trusts. Certificate and key where the server asks for them; the token is sent as
  /// `Authorization: Bearer`, to this server alone.
  wire::Credentials credentials = {};
  bool insecure = false;  ///< http:// to another machine is allowed, with the token readable for all on the way
  std::chrono::milliseconds connect_timeout{5000};  ///< name, connection and TLS handshake
  std::chrono::milliseconds timeout{30000};         ///< of a whole request, further attempts included
  size_t idle_connections = 4;                      ///< kept open for later requests
};

struct ClientRequest {
  std::string method = "GET";
  std::string path = "/";  ///< behind the URL's own, percent-encoded, with its query
  std::string body = {}, content_type = {};
  std::map<std::string, std::string> headers = {};
  /// The server may get it twice: it is sent again where a connection broke off, or where the server says that it is
  /// too busy (429, 503) while there is time. GET and HEAD always are.
  bool repeatable = false;
  size_t most_bytes = size_t{64} << 20;  ///< of the answer's body
  /// Gets the body of an answer of status 200 in parts instead of ClientAnswer::body, and may stop it with an error.
  std::function<Status(std::string_view)> sink = nullptr;
  std::chrono::milliseconds timeout{0};  ///< not 0: in place of ClientOptions::timeout
};

struct ClientAnswer {
  int status = 0;
  std::map<std::string, std::string> headers = {};  ///< names in lower case; the last of those that are there twice
  std::string body = {};
};

/// Thread-safe: each request has a connection of its own while it lasts. Nothing of a credential gets into a message.
class HttpClient {
 public:
  /// Dials nothing yet. InvalidArgument where credentials cannot be used, or would be readable on the way
  /// (http:// to another machine without `insecure`).
  static StatusOr<std::unique_ptr<HttpClient>> make(const Url& server, ClientOptions options = {});
  ~HttpClient();

  /// The server's answer, whatever its status. Redirections are followed at the same scheme, host and port, for GET and
  /// HEAD, five times. Unavailable, one line that names the server: it does not answer (in time), or not in HTTP, or
  /// breaks off, or its certificate is not trusted. ResourceExhausted: the answer is larger than allowed.
  StatusOr<ClientAnswer> send(const ClientRequest& request);

  const Url& server() const;

 private:
  struct Impl;
  explicit HttpClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::http
