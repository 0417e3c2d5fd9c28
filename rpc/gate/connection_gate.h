// Limits on connections: in all, and from one address. Does not look at sockets itself.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "rpc/gate/refusal.h"

namespace hone::gate {

struct ConnectionLimits {
  size_t connections = 16384;
  size_t per_peer = 1024;  ///< from one IPv4 address, one IPv6 /64, or by Unix sockets
};

/// Not thread-safe, except connections(). Sockets are handed to a library that does not tell when it closes them; so
/// they are asked for when a limit is reached, at most every kSweepPause, and every kSweepPeriod.
class ConnectionGate {
 public:
  static constexpr std::chrono::milliseconds kSweepPause{250};
  static constexpr std::chrono::seconds kSweepPeriod{10};

  /// A file descriptor may be closed and given to another file: the inode tells them apart.
  struct Socket {
    int fd;
    ino_t inode;
  };
  using IsOpen = std::function<bool(const Socket&)>;

  /// `clock` outlives it.
  ConnectionGate(ConnectionLimits limits, const Clock& clock, IsOpen is_open)
      : limits_(limits), clock_(clock), is_open_(std::move(is_open)) {}

  /// Why a connection from `peer` (as peer_name() calls it) is not let in now; nothing: it may, and add() follows.
  std::optional<Refusal> judge(const std::string& peer);
  void add(const std::string& peer, Socket socket);
  /// As of the last look.
  size_t connections() const { return total_; }
  const ConnectionLimits& limits() const { return limits_; }

 private:
  std::optional<Refusal> over(const std::string& peer) const;
  void sweep(Clock::TimePoint now);

  const ConnectionLimits limits_;
  const Clock& clock_;
  const IsOpen is_open_;
  std::unordered_map<std::string, std::vector<Socket>> peers_;
  std::atomic<size_t> total_{0};
  std::optional<Clock::TimePoint> swept_;
};

}  // namespace hone::gate
