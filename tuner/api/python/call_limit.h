// Calls of Python functions that may never return.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace hone::python {

/// The exception that ends a call which takes too long; `except Exception` does not catch it. Made once.
pybind11::handle too_long();

/// Has a thread of its own, which looks at the clock some times a second.
class CallLimit {
 public:
  explicit CallLimit(std::chrono::milliseconds most);
  ~CallLimit();
  CallLimit(const CallLimit&) = delete;
  CallLimit& operator=(const CallLimit&) = delete;

  /// function(argument); where that takes longer than the limit, too_long() is raised in it, again every second. Code
  /// of C that does not come back to Python is not reached.
  pybind11::object call(const pybind11::object& function, const pybind11::object& argument);

 private:
  using Clock = std::chrono::steady_clock;
  void watch();

  const std::chrono::milliseconds most_;
  std::mutex mutex_;  // taken with the GIL, never before it
  std::condition_variable changed_;
  bool leaving_ = false, running_ = false;
  unsigned long caller_ = 0;  // Python's number of the calling thread
  Clock::time_point until_{};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace hone::python
