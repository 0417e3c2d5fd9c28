// One connection of the HTTP server: bytes in, bytes out, times. Internal to it.
#pragma once

#include <unistd.h>

#include <utility>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/log.h"
#include "rpc/http/http_answer.h"

namespace hone::http {

/// `Stream` is beast::tcp_stream, or beast::ssl_stream around it. Keeps itself alive.
template <class Stream>
class HttpConnection : public std::enable_shared_from_this<HttpConnection<Stream>> {
  static constexpr bool kTls = !std::is_same_v<Stream, boost::beast::tcp_stream>;
  static constexpr uint32_t kMaxHeaderBytes = 8 << 10;
  static constexpr size_t kReadBytes = size_t{64} << 10;  // read ahead at a time
  static constexpr int kMaxRequests = 1000;               // of one connection
  static constexpr std::chrono::milliseconds kLinger{2000};

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
    leave_place();
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
    parser_->body_limit(UINT64_MAX);  // it is the page's (and Beast takes none for zero)
    limit_time();
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = this->shared_from_this()](Error error, size_t) { self->on_header(error); });
  }

  void on_header(Error error) {
    namespace http = boost::beast::http;
    if (beyond_ && (error || !is_probe(parser_->get()))) {
      note_beyond();
      return error ? close() : write(plain_response(http::status::service_unavailable, "too many connections\n"), true);
    }
    if (error) return on_bad(error);
    admission_ = admit(shared_, peer_, parser_->get());
    if (admission_.page) {
      if (auto busy = take_place()) admission_ = {.refusal = *std::move(busy)};
    }
    if (parser_->is_done()) return on_request();
    parser_->body_limit(admission_.page ? admission_.page->most_body : HttpPage::kSmallBody);
    // A body that nobody will look at is not waited for, unless it is small.
    const auto length = parser_->content_length();
    const uint64_t most = admission_.page ? admission_.page->most_body : HttpPage::kSmallBody;
    if (length && *length > most && admission_.page) return on_bad(http::error::body_limit);
    if (!admission_.page && (!length || *length > most)) return refuse_unread();
    limit_time();
    // A large body over a slow link takes its time.
    if (!until_ && length) tcp().expires_after(shared_.limits.timeout + std::chrono::milliseconds(*length / 256));
    http::async_read(stream_, buffer_, *parser_, [self = this->shared_from_this()](Error failed, size_t) {
      failed ? self->on_bad(failed) : self->on_request();
    });
  }

  void refuse_unread() {
    unread_ = true;
    write(std::move(admission_.refusal), true);
  }

  void on_bad(Error error) {
    namespace http = boost::beast::http;
    const auto refuse = [&](http::status status, const char* text) {
      note(gate::Refusal::kBadRequest, text);
      unread_ = true;
      write(plain_response(status, std::string(text) + "\n"), true);
    };
    if (error == http::error::header_limit)
      return refuse(http::status::request_header_fields_too_large, "the header is too large");
    if (error == http::error::body_limit) return refuse(http::status::payload_too_large, "the body is too large");
    if (error.category() == http::make_error_code(http::error::bad_method).category() &&
        error != http::error::end_of_stream && error != http::error::partial_message)
      return refuse(http::status::bad_request, "not an HTTP request");
    if (error == boost::beast::error::timeout && (buffer_.size() > 0 || parser_->got_some()))
      note(gate::Refusal::kSlow, "a request that did not end in time");
    close();
  }

  void on_request() {
    const bool last = beyond_ || !parser_->get().keep_alive() || ++requests_ >= kMaxRequests;
    if (!admission_.page) return write(std::move(admission_.refusal), last);
    admission_.asked.body = std::move(parser_->get().body());
    if (!admission_.page->may_block) return write(answer(*admission_.page, admission_.asked), last);
    tcp().expires_never();
    shared_.work([self = this->shared_from_this(), last]() mutable {
      auto response = std::make_shared<HttpResponse>(answer(*self->admission_.page, self->admission_.asked));
      // Connections belong to the server's thread, their ends too.
      HttpShared& shared = self->shared_;
      shared.back([self = std::move(self), last, response] { self->write(std::move(*response), last); });
    });
  }

  // A place among the requests in flight, where the page needs one; or why there is none.
  std::optional<HttpResponse> take_place() {
    namespace http = boost::beast::http;
    if (!admission_.page->may_block) return std::nullopt;
    const std::string tenant = admission_.asked.grant.tenant().name;
    size_t& own = shared_.by_tenant[tenant];
    const bool full = shared_.in_flight >= shared_.limits.in_flight;
    if (full || (!tenant.empty() && own >= shared_.limits.per_tenant)) {
      if (own == 0) shared_.by_tenant.erase(tenant);
      HttpResponse busy = json_error(full ? http::status::service_unavailable : http::status::too_many_requests,
                                     full ? "too many requests are being answered; try again"
                                          : "too many requests of " + tenant + " are being answered; try again");
      busy.set(http::field::retry_after, "1");
      return busy;
    }
    ++own, ++shared_.in_flight;
    place_ = tenant;
    return std::nullopt;
  }
  void leave_place() {
    if (!place_) return;
    --shared_.in_flight;
    if (const auto own = shared_.by_tenant.find(*place_); --own->second == 0) shared_.by_tenant.erase(own);
    place_.reset();
  }

  void write(HttpResponse response, bool last) {
    namespace http = boost::beast::http;
    auto& header = response.header;
    header.version(11);
    header.set(http::field::server, "hone");
    header.set(http::field::cache_control, "no-store");
    header.set("X-Content-Type-Options", "nosniff");
    header.set("Content-Security-Policy",
               "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
               "frame-ancestors 'none'");
    head_ = parser_->is_header_done() && parser_->get().method() == http::verb::head;
    held_ = std::move(response.held);
    if (!response.file.empty()) return write_file(std::move(response), last);
    text_.emplace(std::move(header), std::move(response.body));
    send(*text_, last);
  }

  void write_file(HttpResponse response, bool last) {
    namespace http = boost::beast::http;
    Error error;
    file_.emplace(std::move(response.header));
    file_->body().open(response.file.c_str(), boost::beast::file_mode::scan, error);
    unlink(response.file.c_str());
    if (!error) return send(*file_, last);
    file_.reset();
    log::error("HTTP: {}: {}", response.file, error.message());
    text_.emplace(http::status::internal_server_error, 11, "this is a bug of the server; its log says more\n");
    send(*text_, true);
  }

  template <class Message>
  void send(Message& message, bool last) {
    namespace http = boost::beast::http;
    message.keep_alive(!last);
    message.prepare_payload();
    limit_time();
    const auto sent = [self = this->shared_from_this(), last](Error error) {
      self->text_.reset(), self->file_.reset(), self->serializer_ = nullptr, self->held_ = nullptr;
      self->leave_place();
      if (error || last) return self->close();
      self->read();
    };
    auto serializer = std::make_shared<http::serializer<false, typename Message::body_type>>(message);
    serializer_ = serializer;
    if (head_) return http::async_write_header(stream_, *serializer, [sent](Error error, size_t) { sent(error); });
    write_some(*serializer, sent);
  }

  // The time limit is for each part: a large file takes as long as its reader is quick.
  template <class Serializer, class Sent>
  void write_some(Serializer& serializer, Sent sent) {
    limit_time();
    boost::beast::http::async_write_some(stream_, serializer, [this, &serializer, sent](Error error, size_t) {
      if (error || serializer.is_done()) return sent(error);
      write_some(serializer, sent);
    });
  }

  void close() {
    if (unread_) return linger();
    if constexpr (kTls) {
      limit_time();
      stream_.async_shutdown([self = this->shared_from_this()](Error) { self->close_socket(); });
    } else {
      close_socket();
    }
  }
  // All that a peer still sends is thrown away for a short time: else the kernel would take back the answer that says
  // why.
  void linger() {
    if (lingers_until_ == std::chrono::steady_clock::time_point()) {
      lingers_until_ =
          std::chrono::steady_clock::now() + std::min<std::chrono::milliseconds>(kLinger, shared_.limits.timeout);
      if constexpr (!kTls) close_socket();
    }
    tcp().expires_at(lingers_until_);
    buffer_.clear();
    tcp().async_read_some(buffer_.prepare(kReadBytes), [self = this->shared_from_this()](Error error, size_t) {
      if (!error) self->linger();
    });
  }
  void close_socket() {
    Error ignored;
    tcp().socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
  }

  Tls tls_;  // before the stream, which uses it
  Stream stream_;
  HttpShared& shared_;
  HttpPeer peer_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::string_body>> parser_;
  Admission admission_;
  std::optional<std::string> place_;  // the tenant in whose name it has one among those in flight
  std::optional<boost::beast::http::response<boost::beast::http::string_body>> text_;
  std::optional<boost::beast::http::response<boost::beast::http::file_body>> file_;
  std::shared_ptr<void> serializer_;
  std::shared_ptr<const void> held_;
  int requests_ = 0;
  bool head_ = false;    // the answer is a header alone
  bool unread_ = false;  // a part of the request is still to come
  std::chrono::steady_clock::time_point lingers_until_ = {};
  bool counted_ = false;
  std::optional<gate::Refusal> beyond_;  // of a probe: which limit it is beyond
  std::optional<gate::ProbeSlots::Slot> slot_;
  std::optional<std::chrono::steady_clock::time_point> until_;
};

}  // namespace hone::http
