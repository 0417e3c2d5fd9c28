// One connection of the HTTP server: bytes in, bytes out, times. Internal to it.
#pragma once

#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <type_traits>

#include "rpc/http/http_answer.h"

namespace hone::http {

/// `Stream` is beast::tcp_stream, or beast::ssl_stream around it. Keeps itself alive.
template <class Stream>
class HttpConnection : public std::enable_shared_from_this<HttpConnection<Stream>> {
  static constexpr bool kTls = !std::is_same_v<Stream, boost::beast::tcp_stream>;
  static constexpr uint32_t kMaxHeaderBytes = 8 << 10;
  static constexpr uint64_t kMaxBodyBytes = 1 << 10;
  static constexpr int kMaxRequests = 1000;  // of one connection

 public:
  using Tls = std::shared_ptr<boost::asio::ssl::context>;
  using Error = boost::beast::error_code;

  HttpConnection(boost::asio::ip::tcp::socket socket, std::string peer, HttpShared& shared) requires(!kTls)
      : stream_(std::move(socket)), shared_(shared), peer_{std::move(peer), ""} {}
  HttpConnection(boost::asio::ip::tcp::socket socket, std::string peer, HttpShared& shared, Tls tls) requires kTls
      : tls_(std::move(tls)),
        stream_(std::move(socket), *tls_),
        shared_(shared),
        peer_{std::move(peer), ""} {}
  ~HttpConnection() {
    if (counted_) {
      --shared_.connections;
      if (const auto own = shared_.by_peer.find(peer_.address); --own->second == 0) shared_.by_peer.erase(own);
    }
    if (slot_) shared_.slots.leave(*slot_);
  }

  /// One of those that may ask for every page.
  void start() {
    counted_ = true;
    ++shared_.connections;
    ++shared_.by_peer[peer_.address];
    begin();
  }

  /// One too many, for `why`: it has a short time to ask for /healthz, and less when others come.
  void start_as_probe(gate::Refusal why) {
    beyond_ = why;
    slot_ = shared_.slots.enter(peer_.address, shared_.limits.probes, shared_.limits.probes_per_peer,
                                [this] { tcp().close(); });
    until_ = std::chrono::steady_clock::now() + shared_.limits.probe_timeout;
    begin();
  }

 private:
  void begin() {
    if constexpr (kTls) {
      limit_time();
      stream_.async_handshake(boost::asio::ssl::stream_base::server, [self = this->shared_from_this()](Error error) {
        if (error)
          return self->beyond_ ? self->note_beyond()
                               : self->note(gate::Refusal::kBadRequest, "the TLS handshake failed");
        self->peer_.certificate = gate::peer_certificate(self->stream_.native_handle());
        self->read();
      });
    } else {
      read();
    }
  }

  // The time limit of the next step; for a probe, of all steps.
  void limit_time() { until_ ? tcp().expires_at(*until_) : tcp().expires_after(shared_.limits.timeout); }
  void note_beyond() {
    note(*beyond_,
         *beyond_ == gate::Refusal::kPeerConnections ? "too many connections from it" : "too many connections");
  }

  boost::beast::tcp_stream& tcp() { return boost::beast::get_lowest_layer(stream_); }
  void note(gate::Refusal reason, const char* what) {
    shared_.security.rejections->note(peer_.address, reason, std::string("HTTP: ") + what);
  }

  void read() {
    namespace http = boost::beast::http;
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(kMaxBodyBytes);
    limit_time();
    http::async_read(stream_, buffer_, *parser_,
                     [self = this->shared_from_this()](Error error, size_t) { self->on_read(error); });
  }

  void on_read(Error error) {
    namespace http = boost::beast::http;
    if (beyond_ && (error || !is_probe(parser_->get()))) {
      note_beyond();
      return error ? close() : write(plain_response(http::status::service_unavailable, "too many connections\n"), true);
    }
    const auto refuse = [&](http::status status, const char* text) {
      note(gate::Refusal::kBadRequest, text);
      write(plain_response(status, std::string(text) + "\n"), true);
    };
    if (error == http::error::header_limit)
      return refuse(http::status::request_header_fields_too_large, "the header is too large");
    if (error == http::error::body_limit) return refuse(http::status::payload_too_large, "the body is too large");
    if (error && error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
      return refuse(http::status::bad_request, "not an HTTP request");
    if (error == boost::beast::error::timeout && buffer_.size() > 0)
      note(gate::Refusal::kSlow, "a request that did not end in time");
    if (error) return close();
    const bool last = beyond_ || !parser_->get().keep_alive() || ++requests_ >= kMaxRequests;
    write(answer(shared_, peer_, parser_->get()), last);
  }

  void write(HttpResponse response, bool last) {
    namespace http = boost::beast::http;
    response.set(http::field::server, "hone");
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    response.set("Content-Security-Policy",
                 "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                 "frame-ancestors 'none'");
    response.keep_alive(!last);
    response.prepare_payload();
    if (parser_->is_header_done() && parser_->get().method() == http::verb::head) response.body().clear();
    response_ = std::move(response);
    limit_time();
    http::async_write(stream_, response_, [self = this->shared_from_this(), last](Error error, size_t) {
      self->response_ = {};
      if (error || last) return self->close();
      self->read();
    });
  }

  void close() {
    if constexpr (kTls) {
      limit_time();
      stream_.async_shutdown([self = this->shared_from_this()](Error) { self->close_socket(); });
    } else {
      close_socket();
    }
  }
  void close_socket() {
    Error ignored;
    tcp().socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }

  Tls tls_;  // before the stream, which uses it
  Stream stream_;
  HttpShared& shared_;
  HttpPeer peer_;
  boost::beast::flat_buffer buffer_{kMaxHeaderBytes + kMaxBodyBytes};
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  HttpResponse response_;
  int requests_ = 0;
  bool counted_ = false;
  std::optional<gate::Refusal> beyond_;  // of a probe: which limit it is beyond
  std::optional<gate::ProbeSlots::Slot> slot_;
  std::optional<std::chrono::steady_clock::time_point> until_;
};

}  // namespace hone::http
