// Lines of a file from elsewhere: of any stream, and of bounded length.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace hone::db {

/// The longest line that is read. The longest that Hone writes is a prior's, of a few MB.
inline constexpr size_t kMostLineBytes = size_t{16} << 20;

class LineReader {
 public:
  /// `in` outlives the reader, and is read ahead of it.
  explicit LineReader(std::istream& in) : in_(in) {}

  /// The next line without its line feed; false at the end, and when status() is an error.
  bool next(std::string* line);
  /// next() gives the line once more that it gave last.
  void again() { again_ = true; }
  /// Number of the line that next() gave, or failed to give, from 1.
  int64_t number() const { return number_; }
  /// InvalidArgument when a line is too long or cannot be read: why, without name and number.
  const Status& status() const { return status_; }

 private:
  bool fill();

  std::istream& in_;
  std::vector<char> buffer_;
  size_t at_ = 0, end_ = 0;
  std::string last_;
  bool again_ = false;
  int64_t number_ = 0;
  Status status_;
};

}  // namespace hone::db
