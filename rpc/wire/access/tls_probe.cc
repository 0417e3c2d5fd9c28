#include "rpc/wire/access/tls_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "rpc/wire/access/openssl.h"

namespace hone::wire {
namespace {

using namespace openssl;
using Deadline = std::chrono::steady_clock::time_point;

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

bool wait_for(int fd, short events, Deadline deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd one{fd, events, 0};
    const int n = poll(&one, 1, static_cast<int>(left));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

Socket connected(const sockaddr* address, socklen_t size, Deadline deadline) {
  Socket out(socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!out) return out;
  if (connect(out.fd(), address, size) == 0) return out;
  int error = errno;
  socklen_t length = sizeof(error);
  if (error == EINPROGRESS && wait_for(out.fd(), POLLOUT, deadline) &&
      getsockopt(out.fd(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0)
    return out;
  return Socket();
}

Socket dial(const Address& to, Deadline deadline) {
  if (to.is_unix()) {
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    std::strncpy(where.sun_path, to.path.c_str(), sizeof(where.sun_path) - 1);
    return connected(reinterpret_cast<const sockaddr*>(&where), sizeof(where), deadline);
  }
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (getaddrinfo(to.host.c_str(), std::to_string(to.port).c_str(), &hints, &found) != 0) return Socket();
  const std::unique_ptr<addrinfo, Deleter<freeaddrinfo>> owner(found);
  for (const addrinfo* one = found; one; one = one->ai_next)
    if (Socket out = connected(one->ai_addr, one->ai_addrlen, deadline)) return out;
  return Socket();
}

// The result of checking the certificate chain.
struct Verdict {
  std::string out_of_date;  // the first certificate that is
  bool distrusted = false;  // for another reason
  UnixSeconds now = 0;

  void note(X509_STORE_CTX* context) {
    const int error = X509_STORE_CTX_get_error(context);
    X509* certificate = X509_STORE_CTX_get_current_cert(context);
    if ((error != X509_V_ERR_CERT_HAS_EXPIRED && error != X509_V_ERR_CERT_NOT_YET_VALID) || !certificate) {
      distrusted = true;
      return;
    }
    const auto dates = certificate_dates(to_pem([&](BIO* out) { PEM_write_bio_X509(out, certificate); }));
    if (!out_of_date.empty() || !dates.ok()) return;
    const std::string what = invalid_text(dates->front(), now);
    if (!what.empty())
      out_of_date = fmt::format(
          "{} {}", X509_STORE_CTX_get_error_depth(context) == 0 ? "its certificate" : "the CA of its certificate",
          what);
  }
};

int verdict_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// Continues after each error, so that all of them are seen: no data is sent on this connection.
int on_checked(int fine, X509_STORE_CTX* context) {
  const auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if (!fine) static_cast<Verdict*>(SSL_get_ex_data(ssl, verdict_index()))->note(context);
  return 1;
}

}  // namespace

std::string date_problem(const Address& tracker, const std::string& ca, UnixSeconds now,
                         std::chrono::milliseconds timeout) {
  const Deadline deadline = std::chrono::steady_clock::now() + timeout;
  const std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>> context(SSL_CTX_new(TLS_client_method()));
  if (!context) return "";
  const Bio bio = reader(ca);
  while (const Certificate one{PEM_read_bio_X509(bio.get(), nullptr, no_pass_phrase, nullptr)})
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), one.get());
  ERR_clear_error();
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, &on_checked);

  const Socket socket = dial(tracker, deadline);
  const std::unique_ptr<SSL, Deleter<SSL_free>> ssl(SSL_new(context.get()));
  Verdict verdict;
  verdict.now = now;
  if (!socket || !ssl || SSL_set_fd(ssl.get(), socket.fd()) != 1 ||
      SSL_set_ex_data(ssl.get(), verdict_index(), &verdict) != 1)
    return "";
  if (!tracker.is_unix() && !is_ip(tracker.host)) SSL_set_tlsext_host_name(ssl.get(), tracker.host.c_str());
  // gRPC's server answers only clients that offer HTTP/2.
  static constexpr unsigned char kProtocols[] = "\x02h2";
  SSL_set_alpn_protos(ssl.get(), kProtocols, sizeof(kProtocols) - 1);
  for (;;) {
    const int done = SSL_connect(ssl.get());
    const int want = SSL_get_error(ssl.get(), done);
    if (done == 1 || (want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE)) break;
    if (!wait_for(socket.fd(), want == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, deadline)) break;
  }
  ERR_clear_error();
  return verdict.distrusted ? "" : verdict.out_of_date;
}

}  // namespace hone::wire
