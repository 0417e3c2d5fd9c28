#include "rpc/wire/secret_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace hone::wire {
namespace {

constexpr off_t kMaxFileBytes = 1 << 20;
constexpr size_t kMinToken = 16, kMaxToken = 256;

StatusOr<std::string> read_file(const std::string& path, bool secret) {
  const auto bad = [&](std::string_view why) { return absl::InvalidArgumentError(fmt::format("{}: {}", path, why)); };
  // Not blocking: the name could be a pipe's.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return bad(std::strerror(errno));
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } const closer{fd};
  struct stat info {};
  if (fstat(fd, &info) != 0) return bad(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return bad("not a regular file");
  if (secret && (info.st_mode & (S_IRWXO | S_IWGRP)))
    return bad(fmt::format("holds a secret, and its mode {:04o} lets others read or change it: chmod 600 {}",
                           info.st_mode & 07777u, path));
  if (info.st_size > kMaxFileBytes) return bad("larger than 1 MiB");
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) != 0;) {
    if (n < 0) return bad(std::strerror(errno));
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > static_cast<size_t>(kMaxFileBytes)) return bad("larger than 1 MiB");
  }
  return text;
}

}  // namespace

StatusOr<std::string> read_small_file(const std::string& path) { return read_file(path, false); }
StatusOr<std::string> read_secret_file(const std::string& path) { return read_file(path, true); }

Status check_token(std::string_view token) {
  if (token.size() < kMinToken || token.size() > kMaxToken)
    return absl::InvalidArgumentError(
        fmt::format("a token has {} to {} characters, this one {}", kMinToken, kMaxToken, token.size()));
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; }))
    return absl::InvalidArgumentError("a token is of printable ASCII characters without spaces");
  return absl::OkStatus();
}

}  // namespace hone::wire
