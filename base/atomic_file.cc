#include "base/atomic_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/exit_code.h"

namespace hone {
namespace {

Status cannot(const std::string& path, const std::string& why) {
  return usage_error(fmt::format("{} cannot be written: {}", path, why));
}

}  // namespace

Status write_atomically(const std::string& path, const std::function<Status(std::ostream&)>& write) {
  std::error_code error;
  const std::filesystem::file_status there = std::filesystem::status(path, error);
  // A terminal, a pipe, /dev/null: these are written to, and a file must not take their place.
  const bool is_device = std::filesystem::exists(there) && std::filesystem::is_other(there);
  const std::string fresh = is_device ? path : fmt::format("{}.{}.part", path, getpid());
  const Status written = [&] {
    errno = 0;
    std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
    if (!file) return cannot(path, std::strerror(errno));
    HONE_RETURN_IF_ERROR(write(file));
    errno = 0;
    file.close();
    // errno tells about close() only: after an earlier failure its value means nothing.
    return file.good() ? absl::OkStatus() : cannot(path, errno ? std::strerror(errno) : "the disk may be full");
  }();
  if (is_device) return written;
  if (written.ok()) std::filesystem::rename(fresh, path, error);
  if (written.ok() && !error) return absl::OkStatus();
  Status failed = written.ok() ? cannot(path, error.message()) : written;
  std::filesystem::remove(fresh, error);
  return failed;
}

Status write_atomically(const std::string& path, const std::string& text) {
  return write_atomically(path, {std::string_view(text)});
}

Status write_atomically(const std::string& path, std::initializer_list<std::string_view> parts) {
  return write_atomically(path, [&](std::ostream& file) {
    for (const std::string_view part : parts) file << part;
    return absl::OkStatus();
  });
}

}  // namespace hone
