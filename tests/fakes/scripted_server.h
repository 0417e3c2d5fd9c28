// A server that says what a test tells it to, byte by byte: for clients that must survive any.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace hone::fakes {

/// Plain TCP on a free port of 127.0.0.1. One thread, one connection at a time; each request's head is read, then the
/// script speaks.
class ScriptedServer {
 public:
  /// One connection after a head has come.
  struct Peer {
    int fd;
    std::string head;
    const std::atomic<bool>& ending;
    void say(const std::string& text) const {
      for (size_t at = 0; at < text.size();) {
        const ssize_t n = send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (n <= 0) return;
        at += static_cast<size_t>(n);
      }
    }
    /// Until the test is over, or for so long.
    void wait(std::chrono::milliseconds most) const {
      const auto until = std::chrono::steady_clock::now() + most;
      while (!ending && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  /// Whether the connection is kept for one more request.
  using Script = std::function<bool(const Peer&)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)), fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(fd_, 16) != 0 ||
        getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no port");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~ScriptedServer() {
    ending_ = true;
    thread_.join();
    close(fd_);
  }
  uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  /// The heads of all requests so far.
  std::vector<std::string> heads() {
    std::lock_guard lock(mutex_);
    return heads_;
  }

 private:
  bool readable(int fd) const {
    while (!ending_) {
      pollfd one{fd, POLLIN, 0};
      if (poll(&one, 1, 5) > 0) return true;
    }
    return false;
  }
  void run() {
    while (readable(fd_)) {
      const int fd = accept(fd_, nullptr, nullptr);
      while (serve(fd)) continue;
      close(fd);
    }
  }
  bool serve(int fd) {
    std::string head;
    char byte = 0;
    while (head.find("\r\n\r\n") == std::string::npos) {
      if (!readable(fd) || recv(fd, &byte, 1, 0) <= 0) return false;
      head += byte;
    }
    {
      std::lock_guard lock(mutex_);
      heads_.push_back(head);
    }
    return script_({fd, head, ending_});
  }

  const Script script_;
  const int fd_;
  uint16_t port_ = 0;
  std::atomic<bool> ending_{false};
  std::mutex mutex_;  // guards the member below
  std::vector<std::string> heads_;
  std::thread thread_;
};

/// A whole answer.
inline std::string http_answer(const std::string& body, const std::string& status = "200 OK",
                               const std::string& more = "") {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body;
}

}  // namespace hone::fakes
