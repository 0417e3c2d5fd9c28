// The real programs, started as people start them: each test in a private folder and environment, nothing left running
// behind it.
#pragma once

#include <gmock/gmock.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "base/json.h"
#include "tests/fakes/eventually.h"

namespace hone::e2e {

using Words = std::vector<std::string>;
using std::chrono::seconds;

/// Generous: for work that takes a second or two on an idle machine.
inline constexpr seconds kPatience{120};

/// All of a file; empty when there is none.
std::string read_file(const std::string& path);

size_t count_lines(const std::string& text);

/// A program in the background. Killed with its group when it goes out of scope.
class Program {
 public:
  Program(ChildProcess child, std::string out_path, std::string err_path)
      : child_(std::move(child)), out_(std::move(out_path)), err_(std::move(err_path)) {}

  std::string out() const { return read_file(out_); }
  std::string err() const { return read_file(err_); }
  /// True once stdout (stderr) holds `text`.
  bool wait_out(const std::string& text) const {
    return eventually([&] { return out().find(text) != std::string::npos; });
  }
  bool wait_err(const std::string& text) const {
    return eventually([&] { return err().find(text) != std::string::npos; });
  }

  void signal(int number) const { child_.signal(number); }
  /// The exit code; 128 + the signal's number when a signal ended it; -1 when it did not end within `patience`.
  int wait(seconds patience = kPatience);
  bool running() { return !ended(); }
  /// The same once it has ended, without waiting.
  std::optional<int> ended();
  /// 0 once it has ended.
  pid_t pid() const { return child_.pid(); }

 private:
  std::optional<int> take_code(std::chrono::milliseconds patience);

  ChildProcess child_;
  std::string out_, err_;
  std::optional<int> code_;
};

struct Output {
  int code = -1;
  std::string out, err;
  /// stdout's only object.
  Json json() const { return Json::parse(out); }
};

/// A folder of its own with HOME, TMPDIR, the host lock and the default database in it.
class Workplace : public testing::Test {
 protected:
  Workplace();
  ~Workplace() override;

  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  /// words[0] is one of Hone's programs, or the whole path of another.
  Program start(const Words& words);
  /// Runs it to its end.
  Output run(const Words& words, seconds patience = kPatience);
  /// Expects one line on stderr, nothing on stdout and this exit code; the line.
  std::string expect_refused(int code, const Words& words);

  /// Processes of this test that are still alive, as `pid program`.
  std::vector<std::string> processes() const;
  /// The folders for artifacts of this test's agents.
  std::vector<std::string> scratch_folders() const;
  /// True once no process of this test runs, none of `scratch` exists and its TMPDIR is empty.
  bool nothing_left(const std::vector<std::string>& scratch) const;
  std::vector<std::string> temporary_files() const;

  std::string db_ = "";  ///< the default database's path

 private:
  std::string dir_ = "/tmp/hone-fleet-XXXXXX";
  int started_ = 0;
};

/// The contents of a database, read while a tuner may be writing.
struct Stored {
  int64_t trials = 0, configs = 0;  ///< trials without the confirming re-measurements; distinct configs among them
  int64_t failed = 0;               ///< of the trials
  int64_t rows = 0;                 ///< everything
  int64_t sessions = 0;
};
/// Zeros while there is no database.
Stored stored(const std::string& db_path);
/// Workload, target, space and config of each trial, in the order stored: none may be measured twice.
std::vector<std::string> trial_names(const std::string& db_path);
/// Trials measured by the devices of one agent.
int64_t trials_of(const std::string& db_path, const std::string& agent);

}  // namespace hone::e2e
