// The journal of gpu-check: one JSON line for each step in a file, so that the next run continues where this one ended.
#pragma once

#include <map>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace hone::gpu_check {

class Journal {
 public:
  /// Reads the file, which need not exist. A last line that was cut off is as if it were not there; anything else that
  /// cannot be read is InvalidArgument.
  static StatusOr<Journal> open(const std::string& path);
  /// The latest entry of a step; null when it was not begun.
  const Json* find(const std::string& step) const;
  /// Writes the result of a step; on disk when this returns.
  Status add(const std::string& step, const Json& record);
  const std::map<std::string, Json>& records() const { return records_; }

 private:
  std::string path_;
  std::map<std::string, Json> records_;
};

}  // namespace hone::gpu_check
