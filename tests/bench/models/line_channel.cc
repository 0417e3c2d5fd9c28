#include "tests/bench/models/line_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/exit_code.h"

namespace hone::bench {
namespace {

constexpr size_t kLongestLine = 64 << 10;
// The time until a set `stop` is seen; so few wake-ups disturb no turn.
constexpr std::chrono::milliseconds kGlance{100};

}  // namespace

Status LineChannel::write(const std::string& line) {
  const std::string text = line + "\n";
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t n = send(fd_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::UnavailableError("the other end is gone");
    sent += static_cast<size_t>(n);
  }
  return absl::OkStatus();
}

StatusOr<std::string> LineChannel::read(std::optional<std::chrono::milliseconds> limit, const std::atomic<bool>* stop) {
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    if (const size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    if (received_.size() > kLongestLine) return absl::InvalidArgumentError("a line that does not end");
    if (stop && *stop) return interrupted_error("interrupted");
    std::optional<std::chrono::milliseconds> wait;  // none: until something comes
    if (stop) wait = kGlance;
    if (limit) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(start + *limit - std::chrono::steady_clock::now());
      if (left.count() <= 0) return absl::DeadlineExceededError("no answer");
      wait = std::min(wait.value_or(left), left);
    }
    pollfd p{fd_, POLLIN, 0};
    if (poll(&p, 1, wait ? static_cast<int>(wait->count()) : -1) <= 0) continue;
    char part[4096];
    const ssize_t n = recv(fd_, part, sizeof part, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::UnavailableError("the other end is gone");
    received_.append(part, static_cast<size_t>(n));
  }
}

}  // namespace hone::bench
