#include "base/host_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/exit_code.h"

namespace hone {
namespace {

bool lock_file(int fd, int operation) {
  int result;
  while ((result = flock(fd, operation)) != 0 && errno == EINTR) {
  }
  return result == 0;
}

Status cannot(const std::string& path, const std::string& why) {
  return usage_error(
      fmt::format("cannot open the host lock {}: {}; the environment's HONE_HOST_LOCK names another file", path, why));
}

// Files of others may be held by them for ever, and what lies in their folders be taken away.
bool is_trusted(const struct stat& info) { return info.st_uid == geteuid() || info.st_uid == 0; }

StatusOr<int> open_lock_file(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  struct stat info {};
  // The folder itself, were it a link: without the slash.
  if (folder.size() > 1) {
    const std::string name = folder.substr(0, folder.size() - 1);
    mkdir(name.c_str(), S_IRWXU);
    if (lstat(name.c_str(), &info) != 0) return cannot(path, strerror(errno));
    if (!is_trusted(info)) return cannot(path, name + " is another user's");
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return cannot(path, strerror(errno));
  if (fstat(fd, &info) == 0 && is_trusted(info)) return fd;
  close(fd);
  return cannot(path, "it is another user's");
}

bool is_own_folder(const std::string& path) {
  struct stat info {};
  return path.starts_with('/') && lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

void HostLock::Hold::release() {
  if (fd_ >= 0) lock_file(fd_, LOCK_UN);
  fd_ = -1;
}

std::string HostLock::default_path() {
  if (const char* path = std::getenv("HONE_HOST_LOCK"); path && *path) return path;
  // Sessions have the second in the first; services, cron and ssh without PAM do not, and are to find the same lock.
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return default_path({runtime ? runtime : "", fmt::format("/run/user/{}", geteuid())},
                      fmt::format("/tmp/hone-{}", geteuid()));
}

std::string HostLock::default_path(const std::vector<std::string>& runtime_folders, const std::string& otherwise) {
  for (const std::string& folder : runtime_folders)
    if (is_own_folder(folder)) return folder + "/hone-host.lock";
  return otherwise + "/hone-host.lock";
}

StatusOr<HostLock> HostLock::open(const std::string& path) {
  HONE_ASSIGN_OR_RETURN(const int lock, open_lock_file(path));
  StatusOr<int> next = open_lock_file(path + ".next");
  if (!next.ok()) {
    close(lock);
    return next.status();
  }
  return HostLock(lock, *next);
}

HostLock::~HostLock() {
  if (lock_ >= 0) close(lock_);
  if (next_ >= 0) close(next_);
}

HostLock::Hold HostLock::exclusive() {
  lock_file(next_, LOCK_EX);
  lock_file(lock_, LOCK_EX);
  lock_file(next_, LOCK_UN);
  return Hold(lock_);
}

HostLock::Hold HostLock::shared() {
  lock_file(next_, LOCK_SH);
  lock_file(lock_, LOCK_SH);
  lock_file(next_, LOCK_UN);
  return Hold(lock_);
}

HostLock::Hold HostLock::try_exclusive() {
  if (!lock_file(next_, LOCK_EX | LOCK_NB)) return Hold();
  const bool got = lock_file(lock_, LOCK_EX | LOCK_NB);
  lock_file(next_, LOCK_UN);
  return got ? Hold(lock_) : Hold();
}

}  // namespace hone
