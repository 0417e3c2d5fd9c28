// Counts of a team's tophub for its page of metrics.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "rpc/gate/rejections.h"

namespace hone::hub {

/// Thread-safe.
class HubCounts {
 public:
  void answered(const std::string& page, int status, double seconds);
  void asked(size_t keys, size_t found);
  void pushed(int64_t trials);
  /// Prometheus' text format.
  std::string text(const gate::Rejections* rejections) const;

 private:
  struct Page {
    uint64_t count = 0;
    double seconds = 0;
  };
  mutable std::mutex mutex_;                             // guards the members below
  std::map<std::pair<std::string, int>, Page> answers_;  // by page and status
  uint64_t keys_ = 0, found_ = 0, trials_ = 0;
};

}  // namespace hone::hub
