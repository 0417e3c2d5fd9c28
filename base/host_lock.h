// The lock that keeps timed regions of one host undisturbed: a runner holds it exclusively while it times; all other
// work that keeps cores busy (compiling, checking, training, searching) holds it shared, in slices of at most 50 ms.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace hone {

/// One possible holder. Every process, and every thread that locks on its own, opens its own. The kernel lets go when
/// it dies.
///
/// Two files: a waiter holds `PATH.next` until it has `PATH`, exclusively if it waits for an exclusive hold. So an
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

  /// Creates the file when it is not there. A usage error, one line that names HONE_HOST_LOCK, when it cannot be used.
  static StatusOr<HostLock> open(const std::string& path);
  /// The lock at default_path().
  static StatusOr<HostLock> open();
  /// $HONE_HOST_LOCK, else a file in a folder that only this user may write: see lock_folder(). Errors as open().
  static StatusOr<std::string> default_path();

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

/// Where lock_folder() looks; tests have other places.
struct LockPlaces {
  std::string session;  ///< $XDG_RUNTIME_DIR; may be empty
  std::string runtime;  ///< login's folder of a user on this host, whether or not this program's environment names it
  std::string own;      ///< made when neither of the two can be used
};
/// The places for this process: its environment, /run/user/UID, /tmp/hone-UID.
LockPlaces lock_places();

/// The first of `places` that is a folder which belongs to this user and which nobody else may write. `own` is made
/// (mode 0700) where it is missing; where another user was there first it is a usage error that names HONE_HOST_LOCK.
StatusOr<std::string> lock_folder(const LockPlaces& places);

}  // namespace hone
