// Byte-level faults: a TCP proxy whose connections can be cut in the middle of a frame, go silent while they stay up,
// or crawl.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace hone::e2e {

/// One way through a connection: towards the server (kUp) or the client (kDown).
enum class Way { kUp, kDown };

/// How the bytes of one direction flow.
enum class Flow {
  kPass,
  kHold,     ///< not read: the sender's buffers fill up, and later all of it arrives
  kSwallow,  ///< read and thrown away: the sender believes them delivered; the connection can only be cut afterwards
  kTrickle,  ///< a few bytes at a time
  kLate,     ///< each read waits before it is passed on
};

/// Listens on loopback ports, one a link, and connects each connection to a server's Unix socket. One thread of its
/// own; all methods may be called from any thread and hit the connections that the link has at that moment.
class TcpProxy {
 public:
  explicit TcpProxy(std::string server_path);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  /// A new link; the port on 127.0.0.1 that leads through it.
  uint16_t open_link(const std::string& link);
  /// From now on; kPass lets held bytes through, and cuts the connections that lost bytes.
  void set_flow(const std::string& link, Way way, Flow flow);
  /// After `bytes` more of this way, as a reset (`reset`) or as an orderly end.
  void cut(const std::string& link, Way way, size_t bytes, bool reset);
  /// Established now.
  size_t connections(const std::string& link);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::e2e
