#include "db/line_reader.h"

#include <fmt/format.h>

#include <cstring>

namespace hone::db {

bool LineReader::fill() {
  buffer_.resize(size_t{1} << 16);
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  at_ = 0, end_ = static_cast<size_t>(in_.gcount());
  if (end_ == 0 && in_.bad()) status_ = absl::InvalidArgumentError("cannot be read");
  return end_ > 0;
}

bool LineReader::next(std::string* line) {
  if (again_) {
    again_ = false;
    *line = last_;
    return true;
  }
  if (!status_.ok()) return false;
  last_.clear();
  ++number_;
  for (bool any = false;; any = true) {
    if (at_ == end_ && !fill()) {
      *line = last_;
      return any && status_.ok();
    }
    const char* begin = buffer_.data() + at_;
    const auto* feed = static_cast<const char*>(std::memchr(begin, '\n', end_ - at_));
    const size_t length = feed ? static_cast<size_t>(feed - begin) : end_ - at_;
    if (last_.size() + length > kMostLineBytes) {
      status_ = absl::InvalidArgumentError(fmt::format("longer than {} MiB", kMostLineBytes >> 20));
      return false;
    }
    last_.append(begin, length);
    at_ += length + (feed ? 1 : 0);
    if (feed) {
      *line = last_;
      return true;
    }
  }
}

}  // namespace hone::db
