#include "tracker/http.h"

#include <fmt/format.h>

#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <optional>
#include <thread>

#include "base/log.h"

namespace hone::tracker {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

namespace {

constexpr uint32_t kMaxHeaderBytes = 8 << 10;
constexpr uint64_t kMaxBodyBytes = 1 << 10;
constexpr int kMaxRequests = 1000;  // of one connection

struct Shared {
  std::map<std::string, HttpPage> pages;
  HttpLimits limits;
  wire::Address listen;
  size_t connections = 0;  // of the server's thread
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) { ++shared_.connections; }
  ~Connection() { --shared_.connections; }

  void read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(kMaxBodyBytes);
    stream_.expires_after(shared_.limits.timeout);
    http::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](beast::error_code error, size_t) { self->on_read(error); });
  }

 private:
  using Response = http::response<http::string_body>;

  void on_read(beast::error_code error) {
    if (error == http::error::header_limit) return write(plain(http::status::request_header_fields_too_large, "the header is too large\n"), true);
    if (error == http::error::body_limit) return write(plain(http::status::payload_too_large, "no body is expected\n"), true);
    if (error && error.category() == http::make_error_code(http::error::bad_method).category() && error != http::error::end_of_stream &&
        error != http::error::partial_message)
      return write(plain(http::status::bad_request, "not an HTTP request\n"), true);
    if (error) return close();
    const bool last = !parser_->get().keep_alive() || ++requests_ >= kMaxRequests;
    write(answer(parser_->get()), last);
  }

  static Response plain(http::status status, const std::string& text) {
    Response response{status, 11};
    response.set(http::field::content_type, "text/plain; charset=utf-8");
    response.body() = text;
    return response;
  }

  Response answer(const http::request<http::string_body>& request) {
    if (!host_allowed(std::string(request[http::field::host]), shared_.listen)) return plain(http::status::misdirected_request, "this host name is not served here\n");
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      Response response = plain(http::status::method_not_allowed, "only GET\n");
      response.set(http::field::allow, "GET, HEAD");
      return response;
    }
    const std::string target(request.target());
    const size_t mark = target.find('?');
    const auto page = shared_.pages.find(target.substr(0, mark));
    if (page == shared_.pages.end()) return plain(http::status::not_found, "no such page\n");
    HttpReply reply = page->second({mark == std::string::npos ? std::map<std::string, std::string>() : parse_query(std::string_view(target).substr(mark + 1))});
    Response response{http::int_to_status(static_cast<unsigned>(reply.status)), 11};
    response.set(http::field::content_type, reply.content_type);
    response.body() = std::move(reply.body);
    return response;
  }

  void write(Response response, bool last) {
    response.set(http::field::server, "hone");
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'");
    response.keep_alive(!last);
    response.prepare_payload();
    if (parser_->is_header_done() && parser_->get().method() == http::verb::head) response.body().clear();
    response_ = std::move(response);
    stream_.expires_after(shared_.limits.timeout);
    http::async_write(stream_, response_, [self = shared_from_this(), last](beast::error_code error, size_t) {
      if (error || last) return self->close();
      self->read();
    });
  }

  void close() {
    beast::error_code ignored;
    stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  beast::flat_buffer buffer_{kMaxHeaderBytes + kMaxBodyBytes};
  std::optional<http::request_parser<http::string_body>> parser_;
  Response response_;
  int requests_ = 0;
};

}  // namespace

bool host_allowed(const std::string& header, const wire::Address& listen) {
  std::string text = header;
  // The port is optional, as for HTTP's own.
  const bool has_port = !text.empty() && text.back() != ']' && text.find(':') != std::string::npos;
  const auto host = wire::Address::parse(has_port ? text : text + ":80");
  if (!host.ok() || host->is_unix()) return false;
  if (host->is_local() || host->host == listen.host) return true;
  boost::system::error_code error;
  const auto listened = asio::ip::make_address(listen.host, error);
  if (error || !listened.is_unspecified()) return false;
  asio::ip::make_address(host->host, error);
  return !error;
}

std::map<std::string, std::string> parse_query(std::string_view text) {
  // Nothing where the text is not percent-encoded properly.
  const auto decoded = [](std::string_view word) -> std::optional<std::string> {
    std::string out;
    for (size_t i = 0; i < word.size(); ++i) {
      if (word[i] != '%') {
        out += word[i] == '+' ? ' ' : word[i];
        continue;
      }
      int value = 0;
      if (i + 2 >= word.size() || std::from_chars(word.data() + i + 1, word.data() + i + 3, value, 16).ptr != word.data() + i + 3) return std::nullopt;
      out += static_cast<char>(value);
      i += 2;
    }
    return out;
  };
  std::map<std::string, std::string> out;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    auto key = decoded(pair.substr(0, equals)), value = decoded(pair.substr(equals + 1));
    if (key && value) out.emplace(std::move(*key), std::move(*value));
  }
  return out;
}

struct HttpServer::Impl {
  Shared shared;
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  std::thread thread;

  Status listen() {
    tcp::resolver resolver(context);
    boost::system::error_code error;
    const auto found = resolver.resolve(shared.listen.host, std::to_string(shared.listen.port), tcp::resolver::passive, error);
    const auto check = [&](const boost::system::error_code& e) {
      return e ? absl::InvalidArgumentError(fmt::format("cannot listen on {} for HTTP: {}", shared.listen.text(), e.message())) : absl::OkStatus();
    };
    HONE_RETURN_IF_ERROR(check(error));
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor.open(endpoint.protocol(), error);
    HONE_RETURN_IF_ERROR(check(error));
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
    acceptor.bind(endpoint, error);
    HONE_RETURN_IF_ERROR(check(error));
    acceptor.listen(asio::socket_base::max_listen_connections, error);
    HONE_RETURN_IF_ERROR(check(error));
    shared.listen.port = acceptor.local_endpoint().port();
    return absl::OkStatus();
  }

  void accept() {
    acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted) return;
      if (error) {  // out of file descriptors, for one: it passes
        log::warn("HTTP: {}", error.message());
        pause.expires_after(std::chrono::milliseconds(100));
        return pause.async_wait([this](boost::system::error_code aborted) {
          if (!aborted) accept();
        });
      }
      if (shared.connections < shared.limits.connections) std::make_shared<Connection>(std::move(socket), shared)->read();
      accept();
    });
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->accept();
  impl_->thread = std::thread([impl = impl_.get()] { impl->context.run(); });
}

HttpServer::~HttpServer() {
  impl_->context.stop();
  impl_->thread.join();
}

StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(const wire::Address& listen, std::map<std::string, HttpPage> pages, HttpLimits limits) {
  if (listen.is_unix()) return absl::InvalidArgumentError(fmt::format("{}: HTTP is served on HOST:PORT only", listen.text()));
  auto impl = std::make_unique<Impl>();
  impl->shared.pages = std::move(pages);
  impl->shared.limits = limits;
  impl->shared.listen = listen;
  HONE_RETURN_IF_ERROR(impl->listen());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

const wire::Address& HttpServer::address() const { return impl_->shared.listen; }

}  // namespace hone::tracker
