// Lines over a socket: messages between the benchmark and its sides.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string>

#include "base/status.h"

namespace hone::bench {

/// One end. Does not own the descriptor.
class LineChannel {
 public:
  explicit LineChannel(int fd) : fd_(fd) {}

  /// `line` without its line feed. Unavailable when the other end is gone.
  Status write(const std::string& line);
  /// The next line, without its line feed. Unavailable when the other end is gone, DeadlineExceeded after `limit`
  /// (none: waits as long as it takes), interrupted_error() soon after `stop` was set, InvalidArgument for a line above
  /// 64 KiB.
  StatusOr<std::string> read(std::optional<std::chrono::milliseconds> limit = std::nullopt,
                             const std::atomic<bool>* stop = nullptr);

 private:
  int fd_;
  std::string received_;
};

}  // namespace hone::bench
