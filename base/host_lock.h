// The lock that keeps timed regions of one host undisturbed: a runner holds it exclusively while it times; all other
// work that keeps cores busy (compiling, checking, training, searching) holds it shared, in slices of at most 50 ms.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace hone {

/// One possible holder. Every process, and every thread that locks on its own, opens its own. The kernel lets go when
/// it dies.
///
/// Two files: a waiter holds `PATH.next` until it has `PATH`, exclusively when that is what it waits for. So an
/// exclusive waiter lets no further shared holders in, and a shared waiter is not overtaken by the next exclusive hold.
class HostLock {
 public:
  /// Releases the lock when it goes out of scope.
  class [[nodiscard]] Hold {
   public:
    Hold() = default;
    explicit Hold(int fd) : fd_(fd) {}
    Hold(Hold&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(fd_, other.fd_);
      return *this;
    }
    ~Hold() { release(); }
    void release();
    bool held() const { return fd_ >= 0; }

   private:
    int fd_ = -1;
  };

  /// Creates the file, and its folder for this user alone, when they are not there. A usage error of one line that
  /// names HONE_HOST_LOCK where that cannot be, or where file or folder are another user's.
  static StatusOr<HostLock> open(const std::string& path = default_path());
  /// The same for all programs of a user on this host: $HONE_HOST_LOCK, else hone-host.lock in $XDG_RUNTIME_DIR, in
  /// /run/user/ID or in /tmp/hone-ID.
  static std::string default_path();
  /// In the first of these that is a folder of this user's that nobody else may write to; else in another.
  static std::string default_path(const std::vector<std::string>& runtime_folders, const std::string& otherwise);

  HostLock(HostLock&& other) noexcept : lock_(std::exchange(other.lock_, -1)), next_(std::exchange(other.next_, -1)) {}
  HostLock& operator=(HostLock&& other) noexcept {
    std::swap(lock_, other.lock_);
    std::swap(next_, other.next_);
    return *this;
  }
  ~HostLock();

  /// Both wait as long as it takes. This object must hold nothing yet.
  Hold exclusive();
  Hold shared();
  /// As exclusive(), but does not wait; the Hold is empty when another holds or waits for the lock.
  Hold try_exclusive();

 private:
  HostLock(int lock, int next) : lock_(lock), next_(next) {}
  int lock_ = -1, next_ = -1;
};

}  // namespace hone
