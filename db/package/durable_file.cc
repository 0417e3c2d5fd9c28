#include "db/package/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/exit_code.h"

namespace hone::db {
namespace {

namespace fs = std::filesystem;

Status cannot(const std::string& path, const char* what, int error) {
  return database_error(fmt::format("{} cannot be {}: {}", path, what, std::strerror(error)));
}

// fsync() of a path that is there.
Status sync(const std::string& path, int flags) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return cannot(path, "opened", errno);
  // A file system that has no such thing says EINVAL.
  const bool failed = fsync(fd) != 0 && errno != EINVAL;
  const int error = errno;
  close(fd);
  return failed ? cannot(path, "written", error) : absl::OkStatus();
}

}  // namespace

StatusOr<DurableFile> DurableFile::create(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0) return cannot(path, "made", errno);
  return DurableFile(path, fd);
}

DurableFile::~DurableFile() {
  if (fd_ >= 0) ::close(fd_);
}

Status DurableFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot(path_, "written", errno);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

Status DurableFile::close() {
  const bool failed = fsync(fd_) != 0 && errno != EINVAL;
  const int error = errno;
  ::close(std::exchange(fd_, -1));
  return failed ? cannot(path_, "written", error) : absl::OkStatus();
}

Status sync_folder(const std::string& path) { return sync(path, O_DIRECTORY); }
Status sync_file(const std::string& path) { return sync(path, 0); }

Status write_durably(const std::string& path, std::string_view text) {
  const std::string part = fmt::format("{}.{}.part", path, getpid());
  unlink(part.c_str());  // of a killed process that had this number
  const Status written = [&]() -> Status {
    HONE_ASSIGN_OR_RETURN(DurableFile file, DurableFile::create(part));
    HONE_RETURN_IF_ERROR(file.write(text));
    HONE_RETURN_IF_ERROR(file.close());
    if (rename(part.c_str(), path.c_str()) != 0) return cannot(path, "replaced", errno);
    return sync_folder(fs::absolute(path).parent_path().string());
  }();
  if (!written.ok()) unlink(part.c_str());
  return written;
}

StatusOr<FolderLock> FolderLock::take(const std::string& folder) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (ec) return database_error(fmt::format("{} cannot be made: {}", folder, ec.message()));
  const std::string path = folder + "/.lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return cannot(path, "opened", errno);
  FolderLock lock(fd);
  while (flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) return cannot(path, "locked", errno);
  return lock;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) close(fd_);
}

namespace {

constexpr std::string_view kNew = ".hone-new-";

int open_folder(const std::string& path) { return open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }

// Removes a folder whose owner is gone: it would hold its lock.
void remove_unless_owned(const std::string& path) {
  const int fd = open_folder(path);
  if (fd < 0) return;
  std::error_code ec;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) fs::remove_all(path, ec);
  close(fd);
}

}  // namespace

StatusOr<PartFolder> PartFolder::make(const std::string& parent) {
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(parent, ec))
    if (entry.path().filename().string().starts_with(kNew)) remove_unless_owned(entry.path().string());
  constexpr int kTries = 100;  // between the two calls another process may take it for one that was left
  for (int i = 0; i < kTries; ++i) {
    std::string path = fmt::format("{}/{}XXXXXX", parent, kNew);
    if (!mkdtemp(path.data())) return cannot(path, "made", errno);
    const int fd = open_folder(path);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fs::exists(path, ec)) return PartFolder(path, fd);
    if (fd >= 0) close(fd);
  }
  return database_error(fmt::format("{}: no folder can be made in it", parent));
}

PartFolder::~PartFolder() {
  std::error_code ec;
  if (!path_.empty()) fs::remove_all(path_, ec);
  if (lock_ >= 0) close(lock_);
}

Status PartFolder::rename_to(const std::string& path) {
  HONE_RETURN_IF_ERROR(sync_folder(path_));
  if (rename(path_.c_str(), path.c_str()) != 0) return cannot(path, "made", errno);
  path_.clear();
  return sync_folder(fs::path(path).parent_path().string());
}

}  // namespace hone::db
