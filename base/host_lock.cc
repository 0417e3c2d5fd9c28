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

Status unusable(const std::string& path, const std::string& why) {
  return usage_error(
      fmt::format("the host lock cannot be kept in {}: {}; set HONE_HOST_LOCK=FILE to another file, the same "
                  "for all programs of this user on this host",
                  path, why));
}

StatusOr<int> open_lock_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return unusable(path, strerror(errno));
  return fd;
}

// Why `folder` is no place for a lock that only this user's programs may hold; empty: it is one. The folder's own entry
// counts, so that a link which somebody else laid leads nowhere.
std::string objection(const std::string& folder) {
  struct stat info {};
  if (lstat(folder.c_str(), &info) != 0) return strerror(errno);
  if (!S_ISDIR(info.st_mode)) return "it is not a folder";
  if (info.st_uid != geteuid()) return "it belongs to another user";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
  return "";
}

}  // namespace

void HostLock::Hold::release() {
  if (fd_ >= 0) lock_file(fd_, LOCK_UN);
  fd_ = -1;
}

LockPlaces lock_places() {
  const char* session = std::getenv("XDG_RUNTIME_DIR");
  return {session ? session : "", fmt::format("/run/user/{}", geteuid()), fmt::format("/tmp/hone-{}", geteuid())};
}

// A program that is started without a session (cron, a unit) still finds the session's folder, by its name.
StatusOr<std::string> lock_folder(const LockPlaces& places) {
  for (const std::string& given : {places.session, places.runtime})
    if (given.starts_with("/") && objection(given).empty()) return given;
  if (mkdir(places.own.c_str(), 0700) != 0 && errno != EEXIST) return unusable(places.own, strerror(errno));
  if (const std::string why = objection(places.own); !why.empty()) return unusable(places.own, why);
  return places.own;
}

StatusOr<std::string> HostLock::default_path() {
  if (const char* path = std::getenv("HONE_HOST_LOCK"); path && *path) return std::string(path);
  HONE_ASSIGN_OR_RETURN(const std::string folder, lock_folder(lock_places()));
  return folder + "/hone-host.lock";
}

StatusOr<HostLock> HostLock::open() {
  HONE_ASSIGN_OR_RETURN(const std::string path, default_path());
  return open(path);
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
