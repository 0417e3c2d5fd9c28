#include "tests/gpu_check/run_program.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/child_process.h"
#include "base/exit_code.h"

namespace hone::gpu_check {
namespace {

// Keeps a program's output in memory.
class Output {
 public:
  explicit Output(const char* name) : fd_(memfd_create(name, MFD_CLOEXEC)) {}
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    if (fd_ >= 0) close(fd_);
  }
  int fd() const { return fd_; }
  std::string text() const {
    std::string text(static_cast<size_t>(std::max<off_t>(lseek(fd_, 0, SEEK_END), 0)), '\0');
    text.resize(static_cast<size_t>(std::max<ssize_t>(pread(fd_, text.data(), text.size(), 0), 0)));
    return text;
  }

 private:
  const int fd_;
};

std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1);
}

}  // namespace

StatusOr<Outcome> run_program(std::vector<std::string> argv, double most_seconds) {
  argv[0] = sibling_program(argv[0]);
  const Output out("stdout"), err("stderr");
  ChildOptions child{.argv = std::move(argv), .own_group = false};
  child.stdout_fd = out.fd();
  child.stderr_fd = err.fd();
  HONE_ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::spawn(child));
  const auto status = process.wait(std::chrono::milliseconds(static_cast<int64_t>(most_seconds * 1e3)));
  if (!status) return Outcome{-1, "", fmt::format("did not end within {:.0f} s", most_seconds)};
  Outcome outcome{WIFEXITED(*status) ? WEXITSTATUS(*status) : -1, out.text(), last_line(err.text())};
  if (outcome.code != kExitDone && outcome.last_error.empty()) outcome.last_error = describe_exit(*status);
  return outcome;
}

Json outcome_json(const StatusOr<Outcome>& outcome) {
  if (!outcome.ok()) return {{"finished", true}, {"ok", false}, {"error", message_of(outcome.status())}};
  Json record{{"finished", true}, {"ok", outcome->code == kExitDone}};
  if (outcome->code != kExitDone) record["error"] = outcome->last_error;
  return record;
}

}  // namespace hone::gpu_check
