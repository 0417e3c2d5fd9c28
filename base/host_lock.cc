#include "base/host_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace hone {
namespace {

bool lock_file(int fd, int operation) {
  int result;
  while ((result = flock(fd, operation)) != 0 && errno == EINTR) {
  }
  return result == 0;
}

StatusOr<int> open_lock_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return absl::PermissionDeniedError(fmt::format("cannot open the host lock {}: {}", path, strerror(errno)));
  return fd;
}

}  // namespace

void HostLock::Hold::release() {
  if (fd_ >= 0) lock_file(fd_, LOCK_UN);
  fd_ = -1;
}

std::string HostLock::default_path() {
  if (const char* path = std::getenv("HONE_HOST_LOCK"); path && *path) return path;
  return fmt::format("/tmp/hone-host-{}.lock", getuid());
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
