#include "rpc/http/http.h"

#include <fmt/format.h>

#include <utility>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <charconv>
#include <future>
#include <optional>
#include <thread>

#include "base/log.h"
#include "rpc/gate/peer_name.h"
#include "rpc/http/http_connection.h"

namespace hone::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

bool host_allowed(const std::string& header, const wire::Address& listen,
                  const std::function<bool(const std::string& host)>& is_ours) {
  // The port is optional, as for HTTP's own.
  const bool has_port = !header.empty() && header.back() != ']' && header.find(':') != std::string::npos;
  const auto host = wire::Address::parse(has_port ? header : header + ":80");
  if (!host.ok() || host->is_unix()) return false;
  if (host->is_local() || host->host == listen.host || (is_ours && is_ours(host->host))) return true;
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
      unsigned value = 0;  // so that from_chars takes no sign
      if (i + 2 >= word.size() ||
          std::from_chars(word.data() + i + 1, word.data() + i + 3, value, 16).ptr != word.data() + i + 3)
        return std::nullopt;
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

std::string HttpRequest::value(const std::string& key) const {
  const auto found = query.find(key);
  return found == query.end() ? "" : found->second;
}

struct HttpServer::Impl {
  HttpShared shared;
  asio::io_context context{1};
  // While a worker has the only request, there is nothing else to wait for.
  asio::executor_work_guard<asio::io_context::executor_type> waits = asio::make_work_guard(context);
  tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  std::thread thread;
  std::optional<asio::thread_pool> workers;

  Status listen() {
    tcp::resolver resolver(context);
    boost::system::error_code error;
    const auto found =
        resolver.resolve(shared.listen.host, std::to_string(shared.listen.port), tcp::resolver::passive, error);
    const auto check = [&](const boost::system::error_code& e) {
      return e ? absl::InvalidArgumentError(
                     fmt::format("cannot listen on {} for HTTP: {}", shared.listen.text(), e.message()))
               : absl::OkStatus();
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

  void welcome(tcp::socket socket) {
    boost::system::error_code error;
    const auto endpoint = socket.remote_endpoint(error);
    if (error) return;
    // Else an answer in two parts waits for the peer's delayed acknowledgement: 40 ms, in each handshake, too.
    socket.set_option(tcp::no_delay(true), error);
    const std::string peer = gate::peer_name(*endpoint.data());
    const auto own = shared.by_peer.find(peer);
    std::optional<gate::Refusal> beyond;
    if (shared.connections >= shared.limits.connections) beyond = gate::Refusal::kConnections;
    if (own != shared.by_peer.end() && own->second >= shared.limits.per_peer) beyond = gate::Refusal::kPeerConnections;
    const auto begin = [&](auto connection) { beyond ? connection->start_as_probe(*beyond) : connection->start(); };
    if (!shared.tls) return begin(std::make_shared<HttpConnection<beast::tcp_stream>>(std::move(socket), peer, shared));
    begin(std::make_shared<HttpConnection<beast::ssl_stream<beast::tcp_stream>>>(std::move(socket), peer, shared,
                                                                                 shared.tls->context()));
  }

  void accept() {
    acceptor.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) return;
      if (error) {  // out of file descriptors, for one: it passes
        log::warn("HTTP: {}", error.message());
        pause.expires_after(std::chrono::milliseconds(100));
        return pause.async_wait([this](boost::system::error_code aborted) {
          if (!aborted) accept();
        });
      }
      welcome(std::move(socket));
      accept();
    });
  }
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->workers.emplace(std::max<size_t>(impl_->shared.limits.workers, 1));
  impl_->shared.work = [impl = impl_.get()](std::function<void()> job) { asio::post(*impl->workers, std::move(job)); };
  impl_->shared.back = [impl = impl_.get()](std::function<void()> job) { asio::post(impl->context, std::move(job)); };
  impl_->accept();
  impl_->thread = std::thread([impl = impl_.get()] { impl->context.run(); });
}

HttpServer::~HttpServer() {
  impl_->context.stop();
  impl_->thread.join();
  impl_->workers->join();  // what they post back is dropped with the context
}

void HttpServer::drain(std::chrono::milliseconds grace) {
  const auto until = std::chrono::steady_clock::now() + grace;
  const auto left = [&] {
    std::promise<size_t> in_flight;
    asio::post(impl_->context, [&] {
      boost::system::error_code ignored;
      impl_->acceptor.close(ignored);
      in_flight.set_value(impl_->shared.in_flight);
    });
    return in_flight.get_future().get();
  };
  while (left() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

StatusOr<std::unique_ptr<HttpServer>> HttpServer::start(const wire::Address& listen, HttpPages pages,
                                                        const Clock& clock, gate::Security security,
                                                        HttpLimits limits) {
  if (listen.is_unix())
    return absl::InvalidArgumentError(fmt::format("{}: HTTP is served on HOST:PORT only", listen.text()));
  auto impl = std::make_unique<Impl>();
  impl->shared.pages = std::move(pages);
  impl->shared.limits = limits;
  impl->shared.listen = listen;
  impl->shared.security = std::move(security);
  if (!impl->shared.security.rejections) impl->shared.security.rejections = std::make_shared<gate::Rejections>(clock);
  if (impl->shared.security.tls.enabled()) {
    HONE_ASSIGN_OR_RETURN(impl->shared.tls, gate::HttpTls::make(impl->shared.security.tls, clock));
  }
  HONE_RETURN_IF_ERROR(impl->listen());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

const wire::Address& HttpServer::address() const { return impl_->shared.listen; }

}  // namespace hone::http
