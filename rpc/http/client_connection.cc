#include "rpc/http/client_connection.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <vector>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "base/text.h"

namespace hone::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using asio::ip::tcp;
using Error = boost::system::error_code;

struct ClientTls::Impl {
  asio::ssl::context context{asio::ssl::context::tls_client};
};

ClientTls::ClientTls(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ClientTls::~ClientTls() = default;

StatusOr<std::unique_ptr<ClientTls>> ClientTls::make(const wire::Credentials& credentials) {
  auto impl = std::make_unique<Impl>();
  asio::ssl::context& context = impl->context;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  Error error;
  const auto bad = [&](const std::string& what) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", what, clean_line(error.message(), 200)));
  };
  context.set_verify_mode(asio::ssl::verify_peer);
  if (credentials.ca.empty()) {
    context.set_default_verify_paths(error);
    if (error) return bad("the system's certificates");
  } else {
    context.add_certificate_authority(asio::buffer(credentials.ca), error);
    if (error) return bad(credentials.ca_from);
  }
  if (!credentials.certificate.empty()) {
    // Else OpenSSL would ask the terminal for the pass phrase of an encrypted key.
    context.set_password_callback([](size_t, asio::ssl::context::password_purpose) { return std::string(); }, error);
    context.use_certificate_chain(asio::buffer(credentials.certificate), error);
    if (!error) context.use_private_key(asio::buffer(credentials.key), asio::ssl::context::pem, error);
    if (error) return bad(credentials.certificate_from);
  }
  return std::unique_ptr<ClientTls>(new ClientTls(std::move(impl)));
}

namespace {

constexpr uint32_t kMostHeaderBytes = 64 << 10;
constexpr size_t kPartBytes = size_t{64} << 10;

Status unavailable(const std::string& what) { return absl::UnavailableError(clean_line(what, 300)); }

Status failed(const char* doing, const Error& error) {
  if (error == beast::error::timeout) return unavailable(fmt::format("{}: no answer in time", doing));
  if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message || error == asio::error::eof ||
      error == asio::ssl::error::stream_truncated)
    return unavailable(fmt::format("{}: it closed the connection", doing));
  if (error.category() == bhttp::make_error_code(bhttp::error::bad_method).category())
    return unavailable(fmt::format("{}: this is no answer in HTTP ({})", doing, error.message()));
  return unavailable(fmt::format("{}: {}", doing, error.message()));
}

// Its certificates lead to none of those that are trusted here.
bool is_unknown_issuer(long verdict) {
  return verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT || verdict == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
         verdict == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT || verdict == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
         verdict == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE;
}

// getaddrinfo() cannot be cut short: it is left to a thread of its own, which may outlive the wait for it.
StatusOr<std::vector<tcp::endpoint>> resolve(const wire::Address& to, ClientConnection::Deadline deadline) {
  Error error;
  if (const auto address = asio::ip::make_address(to.host, error); !error)
    return std::vector{tcp::endpoint(address, to.port)};
  struct Found {
    std::mutex mutex;
    std::condition_variable there;
    std::optional<Error> error;
    std::vector<tcp::endpoint> endpoints;
  };
  const auto found = std::make_shared<Found>();
  std::thread([found, host = to.host, port = to.port] {
    asio::io_context context;
    Error failure;
    const auto results = tcp::resolver(context).resolve(host, std::to_string(port), failure);
    std::lock_guard lock(found->mutex);
    for (const auto& one : results) found->endpoints.push_back(one.endpoint());
    found->error = failure;
    found->there.notify_all();
  }).detach();
  std::unique_lock lock(found->mutex);
  if (!found->there.wait_until(lock, deadline, [&] { return found->error.has_value(); }))
    return unavailable("its name is not found in time");
  if (*found->error || found->endpoints.empty())
    return unavailable(fmt::format("its name is not found: {}", found->error->message()));
  return std::move(found->endpoints);
}

/// `Stream` is beast::tcp_stream, or beast::ssl_stream around it.
template <class Stream>
class Connection final : public ClientConnection {
  static constexpr bool kTls = !std::is_same_v<Stream, beast::tcp_stream>;

 public:
  Connection() requires(!kTls) : stream_(context_) {}
  explicit Connection(ClientTls& tls) requires kTls : stream_(context_, tls.impl().context) {}

  Status open(const wire::Address& to, Deadline deadline) {
    HONE_ASSIGN_OR_RETURN(const std::vector<tcp::endpoint> endpoints, resolve(to, deadline));
    tcp().expires_at(deadline);
    Error error;
    run([&](auto done) { tcp().async_connect(endpoints, [done](Error e, const tcp::endpoint&) { done(e); }); }, error);
    if (error) return failed("cannot connect", error);
    tcp().socket().set_option(tcp::no_delay(true), error);
    if constexpr (kTls) return shake_hands(to.host);
    return absl::OkStatus();
  }

  StatusOr<ClientAnswer> exchange(const WireRequest& wire, Deadline deadline, bool* untouched) override {
    reusable_ = false;
    if (untouched) *untouched = true;
    tcp().expires_at(deadline);
    bhttp::request<bhttp::string_body> request = made(wire);
    Error sent;
    run([&](auto done) { bhttp::async_write(stream_, request, [done](Error e, size_t) { done(e); }); }, sent);
    // A server that refuses a request may close before it has read all of it: its answer says why.
    if (sent == beast::error::timeout) return failed("while it was asked", sent);
    bhttp::response_parser<bhttp::buffer_body> parser;
    parser.header_limit(kMostHeaderBytes);
    parser.body_limit(wire.request.most_bytes);
    if (wire.request.method == "HEAD") parser.skip(true);
    Error error;
    run([&](auto done) { bhttp::async_read_header(stream_, buffer_, parser, [done](Error e, size_t) { done(e); }); },
        error);
    if (untouched) *untouched = !parser.got_some();
    if (error)
      return error == bhttp::error::body_limit ? larger(wire) : failed("while it was asked", sent ? sent : error);
    ClientAnswer answer;
    answer.status = static_cast<int>(parser.get().result_int());
    for (const auto& field : parser.get()) {
      std::string name(field.name_string());
      std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
      answer.headers[name] = std::string(field.value());
    }
    HONE_RETURN_IF_ERROR(read_body(parser, wire, answer));
    reusable_ = !sent && parser.keep_alive();
    return answer;
  }

  bool reusable() const override { return reusable_; }

 private:
  beast::tcp_stream& tcp() { return beast::get_lowest_layer(stream_); }

  // Starts an operation and waits for its end; the stream's time limit ends it, too.
  template <class Start>
  void run(Start start, Error& error) {
    error = asio::error::operation_aborted;
    start([&error](Error e) { error = e; });
    context_.restart();
    context_.run();
  }

  Status shake_hands(const std::string& host) {
    if constexpr (kTls) {
      SSL* ssl = stream_.native_handle();
      if (wire::is_ip(host)) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str());
      } else {
        SSL_set_tlsext_host_name(ssl, host.c_str());
        SSL_set1_host(ssl, host.c_str());
      }
      Error error;
      run([&](auto done) { stream_.async_handshake(asio::ssl::stream_base::client, done); }, error);
      if (!error) return absl::OkStatus();
      if (const long verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK)
        return unavailable(fmt::format("its certificate is not accepted: {}{}", X509_verify_cert_error_string(verdict),
                                       is_unknown_issuer(verdict) ? " (--tls-ca FILE says whom to trust)" : ""));
      if (ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_WRONG_VERSION_NUMBER)
        return unavailable("it does not speak TLS: http://, or another port?");
      return failed("TLS", error);
    }
  }

  static bhttp::request<bhttp::string_body> made(const WireRequest& wire) {
    bhttp::request<bhttp::string_body> out;
    out.version(11);
    out.method_string(wire.request.method);
    out.target(wire.path);
    out.set(bhttp::field::host, wire.host);
    out.set(bhttp::field::user_agent, "hone");
    if (!wire.token.empty()) out.set(bhttp::field::authorization, "Bearer " + wire.token);
    for (const auto& [name, value] : wire.request.headers) out.set(name, value);
    if (!wire.request.content_type.empty()) out.set(bhttp::field::content_type, wire.request.content_type);
    out.body() = wire.request.body;
    out.keep_alive(true);
    out.prepare_payload();
    return out;
  }

  static Status larger(const WireRequest& wire) {
    return absl::ResourceExhaustedError(fmt::format("its answer is larger than {} bytes", wire.request.most_bytes));
  }

  template <class Parser>
  Status read_body(Parser& parser, const WireRequest& wire, ClientAnswer& answer) {
    std::vector<char> part(kPartBytes);
    size_t had = 0;
    while (!parser.is_done()) {
      parser.get().body() = {part.data(), part.size(), true};
      Error error;
      run([&](auto done) { bhttp::async_read(stream_, buffer_, parser, [done](Error e, size_t) { done(e); }); }, error);
      if (error == bhttp::error::need_buffer) error = {};
      if (error == bhttp::error::body_limit) return larger(wire);
      if (error) return failed("in the middle of its answer", error);
      const std::string_view got(part.data(), part.size() - parser.get().body().size);
      if ((had += got.size()) > wire.request.most_bytes) return larger(wire);
      if (wire.request.sink && answer.status == 200)
        HONE_RETURN_IF_ERROR(wire.request.sink(got));
      else
        answer.body.append(got);
    }
    return absl::OkStatus();
  }

  asio::io_context context_{1};
  Stream stream_;
  beast::flat_buffer buffer_;
  bool reusable_ = false;
};

}  // namespace

StatusOr<std::unique_ptr<ClientConnection>> ClientConnection::dial(const wire::Address& to, ClientTls* tls,
                                                                   Deadline deadline) {
  if (tls) {
    auto out = std::make_unique<Connection<beast::ssl_stream<beast::tcp_stream>>>(*tls);
    HONE_RETURN_IF_ERROR(out->open(to, deadline));
    return std::unique_ptr<ClientConnection>(std::move(out));
  }
  auto out = std::make_unique<Connection<beast::tcp_stream>>();
  HONE_RETURN_IF_ERROR(out->open(to, deadline));
  return std::unique_ptr<ClientConnection>(std::move(out));
}

}  // namespace hone::http
