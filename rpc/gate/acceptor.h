// Accepts connections on a thread of its own and hands over the sockets that the gate lets in. gRPC's own acceptor goes
// deaf when the process runs out of file descriptors and knows no limits.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/status.h"
#include "rpc/gate/connection_gate.h"
#include "rpc/gate/rejections.h"
#include "rpc/wire/access/address.h"

namespace hone::gate {

class Acceptor {
 public:
  /// Gets `fd`, a connected socket that does not block, and owns it. Called on the acceptor's thread.
  using HandOver = std::function<void(int fd)>;

  /// Bound and listening (port 0: the kernel chooses), not accepting yet. A Unix socket is accessible to its owner
  /// only; a socket file without a listener is replaced. InvalidArgument, one line that names the address. `clock`
  /// outlives it.
  static StatusOr<std::unique_ptr<Acceptor>> listen(const wire::Address& address, ConnectionLimits limits,
                                                    std::shared_ptr<Rejections> rejections, const Clock& clock);
  /// Calls stop().
  ~Acceptor();

  /// Once.
  void start(HandOver hand_over);
  /// Listens no more; after it returns nothing is handed over.
  void stop();

  /// The port filled in.
  const wire::Address& address() const;
  /// Open now, or closed a short time ago.
  size_t connections() const;

 private:
  struct Impl;
  explicit Acceptor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::gate
