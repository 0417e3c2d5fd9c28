#include "db/rescue.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/exit_code.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

constexpr int kMostNames = 1000;

Status write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::DataLossError(std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(n));
  }
  return fsync(fd) == 0 ? absl::OkStatus() : absl::DataLossError(std::strerror(errno));
}

}  // namespace

StatusOr<std::string> rescue(const std::string& db_path, const RecordSet& records) {
  const fs::path folder = fs::path(db_path).has_parent_path() ? fs::path(db_path).parent_path() : fs::path(".");
  std::error_code ec;
  if (!fs::is_directory(folder, ec))
    return database_error(fmt::format("nothing can be saved beside it, its folder {} is gone too", folder.string()));
  std::ostringstream text;
  write_records(records, text);
  std::string why = "too many such files";
  for (int i = 1; i <= kMostNames; ++i) {
    const std::string name = fmt::format("{}.rescued{}.jsonl", db_path, i == 1 ? "" : fmt::format("-{}", i));
    const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) {
      why = std::strerror(errno);
      break;
    }
    const Status written = write_all(fd, text.view());
    close(fd);
    if (written.ok()) return name;
    unlink(name.c_str());
    why = message_of(written);
    break;
  }
  return database_error(fmt::format("nothing could be saved beside it: {}", why));
}

}  // namespace hone::db
