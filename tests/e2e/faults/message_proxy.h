// Message-level faults: a gRPC proxy that passes every call on, message by message, and can send messages twice, late
// or not at all.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "tests/e2e/faults/tcp_proxy.h"

namespace hone::e2e {

/// Listens on one Unix socket and calls the server on another; knows no message's meaning. A stream that ends on one
/// side ends on the other with the same status. All methods may be called from any thread.
class MessageProxy {
 public:
  static StatusOr<std::unique_ptr<MessageProxy>> start(const std::string& listen_path, const std::string& server_path);
  ~MessageProxy();

  /// Those that pass messages now, oldest first.
  std::vector<uint64_t> streams() const;
  // Unknown streams are ignored: they may have ended meanwhile.
  /// Sends each of the next `count` messages twice; never the first of a stream, which opens it.
  void duplicate(uint64_t stream, Way way, uint32_t count);
  /// Nothing passes for `time`; then all of it, in order.
  void hold(uint64_t stream, Way way, std::chrono::milliseconds time);
  /// Each message waits for `each` before it is passed on, for `time`.
  void delay(uint64_t stream, Way way, std::chrono::milliseconds each, std::chrono::milliseconds time);
  /// Ends the stream on both sides between two messages.
  void cut(uint64_t stream);

  /// Since the start, for tests of the proxy itself.
  uint64_t passed() const;
  uint64_t duplicated() const;

 private:
  struct Impl;
  explicit MessageProxy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hone::e2e
