#include "rpc/gate/acceptor.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <list>
#include <set>
#include <thread>

#include "rpc/gate/peer_name.h"

namespace hone::gate {
namespace {

namespace asio = boost::asio;

// How long to wait when file descriptors or memory have run out.
constexpr auto kPause = std::chrono::milliseconds(100);
// Unacknowledged data older than this (ms) means that the peer is gone.
constexpr unsigned kUserTimeout = 20'000;

bool is_open(const ConnectionGate::Socket& socket) {
  struct stat info {};
  return fstat(socket.fd, &info) == 0 && S_ISSOCK(info.st_mode) && info.st_ino == socket.inode;
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  std::strncpy(out.sun_path, path.c_str(), sizeof(out.sun_path) - 1);
  return out;
}

// Whether a process still listens on the socket file.
bool is_live_socket(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const sockaddr_un address = unix_address(path);
  const bool live = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return live;
}

}  // namespace

struct Acceptor::Impl {
  struct Listener {
    asio::posix::stream_descriptor socket;
    asio::steady_timer pause;
    explicit Listener(asio::io_context& context, int fd) : socket(context, fd), pause(context) {}
  };

  wire::Address address;
  ConnectionGate gate;
  std::shared_ptr<Rejections> rejections;
  HandOver hand_over;
  asio::io_context context{1};
  std::list<Listener> listeners;
  std::thread thread;

  Impl(const wire::Address& a, ConnectionLimits limits, std::shared_ptr<Rejections> r, const Clock& clock)
      : address(a), gate(limits, clock, &is_open), rejections(std::move(r)) {}

  Status failed(int error) const {
    return absl::InvalidArgumentError(fmt::format("cannot listen on {}: {}", address.text(), std::strerror(error)));
  }

  // errno, or 0.
  int bind_one(int family, const sockaddr* where, socklen_t size) {
    const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return errno;
    const int on = 1, off = 0;
    // Not SO_REUSEPORT: a port that is taken is an error.
    if (family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, where, size) != 0 || ::listen(fd, SOMAXCONN) != 0) {
      const int error = errno;
      close(fd);
      return error;
    }
    listeners.emplace_back(context, fd);
    return 0;
  }

  Status listen_unix() {
    if (is_live_socket(address.path))
      return absl::InvalidArgumentError(
          fmt::format("cannot listen on {}: another program listens there already", address.text()));
    struct stat info {};
    if (lstat(address.path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) unlink(address.path.c_str());
    const sockaddr_un where = unix_address(address.path);
    const mode_t before = umask(S_IRWXG | S_IRWXO);
    const int error = bind_one(AF_UNIX, reinterpret_cast<const sockaddr*>(&where), sizeof(where));
    umask(before);
    if (error != 0) return failed(error);
    chmod(address.path.c_str(), S_IRUSR | S_IWUSR);
    return absl::OkStatus();
  }

  // Every address of the name, all with one port.
  Status listen_tcp() {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    if (const int error = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
        error != 0)
      return absl::InvalidArgumentError(fmt::format("cannot listen on {}: {}", address.text(), gai_strerror(error)));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
    int error = 0;
    std::set<std::string> seen;
    for (addrinfo* one = found; one; one = one->ai_next) {
      // /etc/hosts may name it twice.
      if (!seen.emplace(reinterpret_cast<const char*>(one->ai_addr), one->ai_addrlen).second) continue;
      auto* v4 = reinterpret_cast<sockaddr_in*>(one->ai_addr);
      auto* v6 = reinterpret_cast<sockaddr_in6*>(one->ai_addr);
      (one->ai_family == AF_INET ? v4->sin_port : v6->sin6_port) = htons(address.port);
      const int failure = bind_one(one->ai_family, one->ai_addr, one->ai_addrlen);
      if (failure == 0 && address.port == 0) address.port = bound_port();
      // A name with an IPv6 address on a host without IPv6 is served on the others.
      if (failure != 0 && failure != EAFNOSUPPORT && failure != EADDRNOTAVAIL) return failed(failure);
      if (failure != 0) error = failure;
    }
    return listeners.empty() ? failed(error) : absl::OkStatus();
  }

  uint16_t bound_port() {
    sockaddr_storage bound{};
    socklen_t size = sizeof(bound);
    getsockname(listeners.back().socket.native_handle(), reinterpret_cast<sockaddr*>(&bound), &size);
    return ntohs(bound.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(bound).sin_port
                                            : reinterpret_cast<sockaddr_in6&>(bound).sin6_port);
  }

  void wait(Listener& listener) {
    listener.socket.async_wait(asio::posix::stream_descriptor::wait_read,
                               [this, &listener](const boost::system::error_code& error) {
                                 if (!error) accept(listener);
                               });
  }

  void accept(Listener& listener) {
    // At most this many at a time, so that stop() is noticed.
    for (int i = 0; i < 64; ++i) {
      sockaddr_storage peer{};
      socklen_t size = sizeof(peer);
      const int fd = accept4(listener.socket.native_handle(), reinterpret_cast<sockaddr*>(&peer), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd >= 0) {
        admit(fd, peer);
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) break;
      // Errors of this one connection.
      if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) continue;
      // Out of descriptors or memory: waiting connections stay in the kernel's queue until there is more.
      rejections->note("any", Refusal::kConnections, std::strerror(errno));
      listener.pause.expires_after(kPause);
      return listener.pause.async_wait([this, &listener](const boost::system::error_code& error) {
        if (!error) accept(listener);
      });
    }
    wait(listener);
  }

  void admit(int fd, const sockaddr_storage& peer) {
    const std::string name = peer_name(reinterpret_cast<const sockaddr&>(peer));
    struct stat info {};
    if (const auto refusal = gate.judge(name)) {
      close(fd);
      const bool own = *refusal == Refusal::kPeerConnections;
      return rejections->note(
          name, *refusal,
          own ? fmt::format("more than {} connections from it (--max-peer-connections)", gate.limits().per_peer)
              : fmt::format("more than {} connections (--max-connections)", gate.limits().connections));
    }
    if (fstat(fd, &info) != 0) {
      close(fd);
      return;
    }
    if (peer.ss_family != AF_UNIX) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeout, sizeof(kUserTimeout));
    }
    gate.add(name, {fd, info.st_ino});
    hand_over(fd);
  }
};

Acceptor::Acceptor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Acceptor::~Acceptor() { stop(); }

StatusOr<std::unique_ptr<Acceptor>> Acceptor::listen(const wire::Address& address, ConnectionLimits limits,
                                                     std::shared_ptr<Rejections> rejections, const Clock& clock) {
  auto impl = std::make_unique<Impl>(address, limits, std::move(rejections), clock);
  HONE_RETURN_IF_ERROR(address.is_unix() ? impl->listen_unix() : impl->listen_tcp());
  return std::unique_ptr<Acceptor>(new Acceptor(std::move(impl)));
}

void Acceptor::start(HandOver hand_over) {
  impl_->hand_over = std::move(hand_over);
  for (auto& listener : impl_->listeners) impl_->wait(listener);
  impl_->thread = std::thread([impl = impl_.get()] { impl->context.run(); });
}

void Acceptor::stop() {
  impl_->context.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
  if (!impl_->listeners.empty() && impl_->address.is_unix()) unlink(impl_->address.path.c_str());
  impl_->listeners.clear();
}

const wire::Address& Acceptor::address() const { return impl_->address; }

size_t Acceptor::connections() const { return impl_->gate.connections(); }

}  // namespace hone::gate
