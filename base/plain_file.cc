#include "base/plain_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace hone {
namespace {

Status bad_file(const std::string& path, const std::string& why) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", path, why));
}

const char* kind_of(mode_t mode) { return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : "a device"; }

// In the largest unit that divides it.
std::string size_text(int64_t bytes) {
  for (const auto& [unit, name] : {std::pair(int64_t{1} << 20, "MiB"), {int64_t{1} << 10, "KiB"}})
    if (bytes % unit == 0) return fmt::format("{} {}", bytes / unit, name);
  return fmt::format("{} bytes", bytes);
}

}  // namespace

StatusOr<PlainFile> PlainFile::open(const std::string& path) {
  // Opening a pipe would wait for who writes to it.
  PlainFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat info {};
  if (file.fd_ < 0 || fstat(file.fd_, &info) != 0) return bad_file(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return bad_file(path, fmt::format("it is {}, not a plain file", kind_of(info.st_mode)));
  file.size_ = info.st_size;
  file.mode_ = info.st_mode & 07777;
  return file;
}

PlainFile::PlainFile(PlainFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_), mode_(other.mode_) {}

PlainFile& PlainFile::operator=(PlainFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(mode_, other.mode_);
  return *this;
}

PlainFile::~PlainFile() {
  if (fd_ >= 0) close(fd_);
}

StatusOr<std::string> PlainFile::next(int64_t most) const {
  // No more than the file had when it was opened: who writes to it meanwhile does not make it endless.
  std::string text(static_cast<size_t>(std::clamp<int64_t>(most, 0, size_)), '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t n = ::read(fd_, text.data() + got, text.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return bad_file(path_, std::strerror(errno));
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  text.resize(got);
  return text;
}

StatusOr<std::string> PlainFile::all(int64_t most) const {
  if (size_ > most) return bad_file(path_, fmt::format("it is larger than {}", size_text(most)));
  return next(most);
}

StatusOr<std::string> read_plain_file(const std::string& path, int64_t most) {
  HONE_ASSIGN_OR_RETURN(const PlainFile file, PlainFile::open(path));
  return file.all(most);
}

}  // namespace hone
