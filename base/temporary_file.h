// A file that is gone with its owner.
#pragma once

#include <string>
#include <string_view>

namespace hone {

/// An empty file of a new name, which this user alone may read and write, in the folder for temporary files (TMPDIR,
/// else /tmp). A mapping of it keeps its contents.
class TemporaryFile {
 public:
  /// `name` begins its name. UserError that names the folder where it cannot be made there.
  explicit TemporaryFile(std::string_view name);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hone
