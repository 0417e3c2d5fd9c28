// Files that are packed behind a model as a zip archive. Nothing in it is trusted.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace hone::tflite {

/// The archive at the end of some bytes, which outlive it.
class Zip {
 public:
  /// Reads its list of files; an empty one where the bytes do not end with an archive. UserError, one line, for a list
  /// that lies outside of the bytes or is damaged, more than 4,096 files, and archives in several parts or of 4 GB.
  explicit Zip(std::string_view bytes);

  bool has(const std::string& name) const { return files_.contains(name); }
  /// The content of a file, stored or deflated. UserError, one line without the name, for a name that is none, content
  /// that lies outside of the bytes, is damaged, encrypted, packed otherwise, or unpacks to more than `most` bytes.
  std::string read(const std::string& name, size_t most) const;

 private:
  struct File {
    size_t header = 0, packed = 0, size = 0;  ///< where its header begins; bytes as they lie there, and unpacked
    unsigned method = 0, flags = 0;
    unsigned long sum = 0;  ///< CRC-32 of the content
  };

  std::string_view bytes_;
  std::map<std::string, File> files_;
};

}  // namespace hone::tflite
