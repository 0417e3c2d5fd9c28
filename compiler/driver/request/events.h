// Messages and progress of the driver while it works, for a terminal or a calling program; all may be ignored.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace hone {

struct Events {
  /// A line for people, without its end: assumptions, findings, files written.
  std::function<void(const std::string& line)> note = {};
  /// Called now and then with the progress, on the calling thread. An exception that it throws ends the work.
  std::function<void(std::string_view what, size_t done, size_t all)> progress = {};

  void tell(const std::string& line) const {
    if (note) note(line);
  }
};

}  // namespace hone
