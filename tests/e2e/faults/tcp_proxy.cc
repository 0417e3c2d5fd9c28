#include "tests/e2e/faults/tcp_proxy.h"

#include <utility>

#include <boost/asio.hpp>

#include <array>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <optional>
#include <thread>

namespace hone::e2e {
namespace {

namespace asio = boost::asio;
using asio::awaitable, asio::ip::tcp;
using Unix = asio::local::stream_protocol;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr size_t kTrickleBytes = 7;
constexpr milliseconds kTricklePause{5}, kLatePause{40};

auto token(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

// A client's connection and the one to the server that belongs to it.
class Pair : public std::enable_shared_from_this<Pair> {
 public:
  Pair(asio::io_context& io, tcp::socket client) : client_(std::move(client)), server_(io), up_(io), down_(io) {}

  awaitable<void> run(const std::string& server_path) {
    error_code error;
    co_await server_.async_connect(Unix::endpoint(server_path), token(error));
    if (error) co_return close(false);
    client_.set_option(tcp::no_delay(true), error);
    const auto self = shared_from_this();
    const auto executor = co_await asio::this_coro::executor;
    asio::co_spawn(
        executor, [self] { return self->pump(self->client_, self->server_, self->up_); }, asio::detached);
    co_await pump(server_, client_, down_);
  }

  void set_flow(Way way, Flow flow) {
    Lane& lane = this->lane(way);
    lane.flow = flow;
    lane.changed.cancel();
    if (flow == Flow::kPass && lane.lost_bytes) close(true);
  }
  void cut(Way way, size_t bytes, bool reset) {
    lane(way).cut_after = bytes;
    reset_ = reset;
    if (bytes == 0) close(reset);
  }
  bool is_open() const { return client_.is_open(); }

 private:
  struct Lane {
    explicit Lane(asio::io_context& io) : changed(io) {}
    Flow flow = Flow::kPass;
    std::optional<size_t> cut_after;
    bool lost_bytes = false;
    asio::steady_timer changed;  // cancelled to wake a coroutine that holds bytes back
  };

  Lane& lane(Way way) { return way == Way::kUp ? up_ : down_; }

  awaitable<void> pause(Lane& lane, std::chrono::steady_clock::duration time) {
    error_code ignored;
    lane.changed.expires_after(time);
    co_await lane.changed.async_wait(token(ignored));
  }

  template <class From, class To>
  awaitable<void> pump(From& from, To& to, Lane& lane) {
    const auto self = shared_from_this();
    std::array<char, 16384> buffer;
    error_code error;
    for (;;) {
      while (lane.flow == Flow::kHold && is_open()) co_await pause(lane, std::chrono::hours(1));
      const size_t most = lane.flow == Flow::kTrickle ? kTrickleBytes : buffer.size();
      size_t bytes = co_await from.async_read_some(asio::buffer(buffer.data(), most), token(error));
      if (error) break;
      if (lane.flow == Flow::kTrickle) co_await pause(lane, kTricklePause);
      if (lane.flow == Flow::kLate) co_await pause(lane, kLatePause);
      while (lane.flow == Flow::kHold && is_open()) co_await pause(lane, std::chrono::hours(1));
      if (lane.flow == Flow::kSwallow) {
        lane.lost_bytes = true;
        continue;
      }
      const bool cuts = lane.cut_after && *lane.cut_after <= bytes;
      if (cuts) bytes = *lane.cut_after;
      co_await asio::async_write(to, asio::buffer(buffer.data(), bytes), token(error));
      if (error || cuts) break;
      if (lane.cut_after) *lane.cut_after -= bytes;
    }
    close(reset_);
  }

  void close(bool reset) {
    error_code ignored;
    if (reset && client_.is_open()) client_.set_option(asio::socket_base::linger(true, 0), ignored);
    client_.close(ignored);
    server_.close(ignored);
    up_.changed.cancel();
    down_.changed.cancel();
  }

  tcp::socket client_;
  Unix::socket server_;
  Lane up_, down_;
  bool reset_ = false;
};

struct Link {
  explicit Link(asio::io_context& io) : acceptor(io, {asio::ip::address_v4::loopback(), 0}) {}
  tcp::acceptor acceptor;
  std::list<std::weak_ptr<Pair>> pairs;
};

}  // namespace

struct TcpProxy::Impl {
  const std::string server_path;
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard = asio::make_work_guard(io);
  std::map<std::string, Link> links;
  std::thread thread{[this] { io.run(); }};

  explicit Impl(std::string path) : server_path(std::move(path)) {}
  ~Impl() {
    io.stop();
    thread.join();
  }

  // Runs `task` on the proxy's thread; its value.
  template <class Task>
  auto on_thread(Task task) {
    std::packaged_task<decltype(task())()> packaged(std::move(task));
    auto result = packaged.get_future();
    asio::post(io, [&packaged] { packaged(); });
    return result.get();
  }

  awaitable<void> accept(Link& link) {
    for (;;) {
      auto pair = std::make_shared<Pair>(io, co_await link.acceptor.async_accept(asio::use_awaitable));
      std::erase_if(link.pairs, [](const auto& known) { return known.expired(); });
      link.pairs.push_back(pair);
      asio::co_spawn(
          io, [this, pair] { return pair->run(server_path); }, asio::detached);
    }
  }

  void each(const std::string& name, const std::function<void(Pair&)>& what) {
    for (const auto& known : links.at(name).pairs)
      if (const auto pair = known.lock(); pair && pair->is_open()) what(*pair);
  }
};

TcpProxy::TcpProxy(std::string server_path) : impl_(std::make_unique<Impl>(std::move(server_path))) {}
TcpProxy::~TcpProxy() = default;

uint16_t TcpProxy::open_link(const std::string& name) {
  return impl_->on_thread([&] {
    Link& link = impl_->links.try_emplace(name, impl_->io).first->second;
    asio::co_spawn(impl_->io, impl_->accept(link), asio::detached);
    return link.acceptor.local_endpoint().port();
  });
}

void TcpProxy::set_flow(const std::string& link, Way way, Flow flow) {
  impl_->on_thread([&] { impl_->each(link, [&](Pair& pair) { pair.set_flow(way, flow); }); });
}

void TcpProxy::cut(const std::string& link, Way way, size_t bytes, bool reset) {
  impl_->on_thread([&] { impl_->each(link, [&](Pair& pair) { pair.cut(way, bytes, reset); }); });
}

size_t TcpProxy::connections(const std::string& link) {
  return impl_->on_thread([&] {
    size_t count = 0;
    impl_->each(link, [&](Pair&) { ++count; });
    return count;
  });
}

}  // namespace hone::e2e
