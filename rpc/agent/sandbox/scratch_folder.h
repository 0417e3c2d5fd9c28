// A folder in memory for files that builders write and runners load.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"

namespace hone::agent {

/// Private (0700), on /dev/shm where code may be loaded from there, else in $TMPDIR or /tmp; removed with its contents
/// by the destructor.
class ScratchFolder {
 public:
  /// Also removes the folders that crashed processes of the same user left behind.
  static StatusOr<ScratchFolder> make();
  ScratchFolder(ScratchFolder&& other) noexcept
      : path_(std::exchange(other.path_, "")), lock_(std::exchange(other.lock_, -1)) {}
  ~ScratchFolder();
  const std::string& path() const { return path_; }

 private:
  ScratchFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_ = -1;  ///< locked as long as the owner lives: others see by it that the folder is in use
};

}  // namespace hone::agent
