// The program `tophub serve`, as a team runs it, and writers that note what it acknowledged.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "db/rows.h"
#include "db/team/remote_hub.h"

namespace hone::e2e {

/// Runs a program to its end: its exit code, and its output with the errors.
struct Ran {
  int code;
  std::string text;
};
Ran run_program(const std::string& program, const std::vector<std::string>& arguments,
                const std::vector<std::string>& environment = {});

/// A service in the background that says where it listens once it is made.
class Served {
 public:
  /// `arguments` of `tophub serve`. The first two lines that it prints are waited for.
  explicit Served(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {});

  /// The address listened on: 127.0.0.1:PORT.
  const std::string& listens() const { return listens_; }
  const std::string& lines() const { return lines_; }
  pid_t pid() const { return child_.pid(); }
  /// The wait status.
  int stop(int signal);

 private:
  ChildProcess child_;
  std::string lines_, listens_;
};

/// A session's records that nobody else has.
db::RecordSet session_of(const std::string& uuid, const std::string& workload, double seconds);

/// Threads that push sessions without pause until stop(); what is acknowledged is noted.
class Writers {
 public:
  Writers(std::shared_ptr<db::RemoteHub> hub, int threads);
  ~Writers();
  void stop();
  /// Workloads whose push was answered with OK.
  std::set<std::string> acknowledged() const;
  int64_t failures() const { return failures_; }

 private:
  void run(int thread);

  const std::shared_ptr<db::RemoteHub> hub_;
  std::atomic<bool> ending_{false};
  std::atomic<int64_t> failures_{0};
  mutable std::mutex mutex_;  // guards the member below
  std::set<std::string> acknowledged_;
  std::vector<std::thread> threads_;
};

/// Kills the service `times` times while `threads` write, restarts it each time at the same place, and expects that
/// nothing acknowledged is lost. `arguments`: of the service, without --listen.
void expect_kills_lose_nothing(const std::vector<std::string>& arguments, int times, int threads);

}  // namespace hone::e2e
