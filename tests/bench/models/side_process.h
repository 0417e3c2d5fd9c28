// The benchmark's end of a side: a process of its own, so that it may refuse, crash or hang.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/json.h"
#include "tests/bench/models/layers.h"
#include "tests/bench/models/line_channel.h"

namespace hone::bench {

struct SideOptions {
  std::string title;                         ///< begins the messages of its errors
  std::vector<std::string> argv;             ///< argv[0] is the program's path
  std::string log;                           ///< a file for what it prints
  std::chrono::milliseconds limit{300'000};  ///< for each of its answers
  const std::atomic<bool>* stop = nullptr;   ///< Ctrl-C: waits end
};

/// The time that a side needed until its first outputs, in milliseconds.
struct StartTimes {
  double library_ms = 0, open_ms = 0, first_run_ms = 0;
  double total() const { return library_ms + open_ms + first_run_ms; }
};

/// Errors are of one line: the side's own, or how it ended with the last line that it printed, or that it did not
/// answer within the limit.
class SideProcess {
 public:
  /// Waits until it is ready.
  static StatusOr<SideProcess> start(const SideOptions& options);
  const StartTimes& start_times() const { return start_times_; }
  const std::string& version() const { return version_; }
  pid_t pid() const { return child_.pid(); }
  /// The median run of a turn, in milliseconds.
  StatusOr<double> turn();
  /// The side's last answer: the times of its layers, from the `layers_file` of its case.
  StatusOr<std::vector<LayerTime>> layers(const std::string& layers_file);

 private:
  SideProcess(SideOptions options, ChildProcess child)
      : options_(std::move(options)), child_(std::move(child)), lines_(child_.channel()) {}
  StatusOr<Json> answer();
  Status failure(const Status& reason);

  SideOptions options_;
  ChildProcess child_;
  LineChannel lines_;
  StartTimes start_times_;
  std::string version_;
};

}  // namespace hone::bench
