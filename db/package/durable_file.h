// Files that are on the disk when a call returns, so that none is half there after a power cut.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace hone::db {

/// A new file that is written part by part. Errors are one line, exit code 5. Move-only.
class DurableFile {
 public:
  /// Fails where there is something at the path already, a link too.
  static StatusOr<DurableFile> create(const std::string& path);
  DurableFile(DurableFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  DurableFile& operator=(DurableFile&&) = delete;
  /// Closes; the file stays as it is.
  ~DurableFile();

  Status write(std::string_view bytes);
  /// On the disk.
  Status close();

 private:
  DurableFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

/// The names in a folder, on the disk.
Status sync_folder(const std::string& path);
/// The bytes of a file, on the disk.
Status sync_file(const std::string& path);
/// A whole file in the place of what was there: written beside it, then renamed.
Status write_durably(const std::string& path, std::string_view text);

/// Held while a folder's packages change; waits for others. Released when it goes.
class FolderLock {
 public:
  /// Makes the folder (0700 where it is missing).
  static StatusOr<FolderLock> take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

/// A folder of a new name in `parent`, removed with what is in it when this goes; those that killed processes left are
/// removed by the next.
class PartFolder {
 public:
  static StatusOr<PartFolder> make(const std::string& parent);
  PartFolder(PartFolder&& other) noexcept
      : path_(std::exchange(other.path_, "")), lock_(std::exchange(other.lock_, -1)) {}
  PartFolder& operator=(PartFolder&&) = delete;
  ~PartFolder();
  const std::string& path() const { return path_; }
  /// The folder takes its place; nothing may be there.
  Status rename_to(const std::string& path);

 private:
  PartFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::string path_;
  int lock_;  // held for as long as it has an owner
};

}  // namespace hone::db
