#include "rpc/wire/access/secret_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/plain_file.h"

namespace hone::wire {
namespace {

constexpr int64_t kMaxFileBytes = 1 << 20;
constexpr size_t kMinToken = 16, kMaxToken = 256;

}  // namespace

StatusOr<std::string> read_small_file(const std::string& path) { return read_plain_file(path, kMaxFileBytes); }

StatusOr<std::string> read_secret_file(const std::string& path) {
  HONE_ASSIGN_OR_RETURN(const PlainFile file, PlainFile::open(path));
  if (file.mode() & (S_IRWXO | S_IWGRP))
    return absl::InvalidArgumentError(fmt::format(
        "{0}: holds a secret, and its mode {1:04o} lets others read or change it: chmod 600 {0}", path, file.mode()));
  return file.all(kMaxFileBytes);
}

Status check_token(std::string_view token) {
  if (token.size() < kMinToken || token.size() > kMaxToken)
    return absl::InvalidArgumentError(
        fmt::format("a token must have {} to {} characters, this one has {}", kMinToken, kMaxToken, token.size()));
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; }))
    return absl::InvalidArgumentError("a token must be printable ASCII characters without spaces");
  return absl::OkStatus();
}

}  // namespace hone::wire
