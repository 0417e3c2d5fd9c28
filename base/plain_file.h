// Files that users name, opened without trust: a name may be a pipe without a writer, a device without an end, or more
// than there is memory for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/status.h"

namespace hone {

/// A plain file that is open for reading. Move-only; closed when it goes.
class PlainFile {
 public:
  /// Never waits. InvalidArgument, `PATH: why`, for a path that cannot be opened and for folders, pipes and devices;
  /// links are followed.
  static StatusOr<PlainFile> open(const std::string& path);
  PlainFile(PlainFile&& other) noexcept;
  PlainFile& operator=(PlainFile&& other) noexcept;
  ~PlainFile();

  int fd() const { return fd_; }
  /// In bytes, and the permissions, both as they were when it was opened.
  int64_t size() const { return size_; }
  mode_t mode() const { return mode_; }

  /// The next bytes, `most` or all that there are. InvalidArgument, `PATH: why`, where they cannot be read.
  StatusOr<std::string> next(int64_t most) const;
  /// The next bytes up to the end. InvalidArgument, too, where the file is larger than `most` bytes.
  StatusOr<std::string> all(int64_t most) const;

 private:
  PlainFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
  int64_t size_ = 0;
  mode_t mode_ = 0;
};

/// The text of a plain file of at most `most` bytes; errors as PlainFile has them.
StatusOr<std::string> read_plain_file(const std::string& path, int64_t most);

}  // namespace hone
