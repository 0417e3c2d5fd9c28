#include "rpc/agent/run/candidate_process.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/child_process.h"

namespace hone::agent {

StatusOr<CandidateProcess> CandidateProcess::fork(const std::function<void(int fd)>& body) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return absl::ResourceExhaustedError(fmt::format("cannot start a candidate: {}", strerror(errno)));
  const pid_t parent = getpid(), pid = ::fork();
  if (pid == 0) {
    die_with_parent(SIGKILL, parent);
    close(pair[0]);
    body(pair[1]);
    _exit(0);
  }
  const int error = errno;
  close(pair[1]);
  if (pid > 0) return CandidateProcess(pid, pair[0]);
  close(pair[0]);
  return absl::ResourceExhaustedError(fmt::format("cannot start a candidate: {}", strerror(error)));
}

CandidateProcess::CandidateProcess(CandidateProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), fd_(std::exchange(other.fd_, -1)) {}

CandidateProcess::~CandidateProcess() {
  kill_and_reap();
  if (fd_ >= 0) close(fd_);
}

int CandidateProcess::kill_and_reap() {
  if (pid_ <= 0) return 0;
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return status;
}

pid_t CandidateProcess::kill_only() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  return std::exchange(pid_, 0);
}

void CandidateProcess::reap(pid_t pid) {
  while (pid > 0 && waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Clock::Duration CandidateProcess::in_seconds(double seconds) {
  return std::chrono::nanoseconds(static_cast<int64_t>(std::clamp(seconds, 0.0, 1e6) * 1e9));
}

CandidateFailure CandidateProcess::explain(const Status& status, double seconds) {
  if (absl::IsDeadlineExceeded(status)) {
    kill_and_reap();
    return {wire::ResultStatus::kRunTimeout, fmt::format("the kernel was still running after {:.3g} s", seconds)};
  }
  if (absl::IsCancelled(status)) return {wire::ResultStatus::kCancelled, "cancelled while running"};
  // The connection is closed, so the process has ended or is ending: finds out why.
  int exit_status = 0;
  while (pid_ > 0 && waitpid(pid_, &exit_status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  if (WIFSIGNALED(exit_status))
    return {wire::ResultStatus::kRunFailed, "the kernel was killed by " + describe_exit(exit_status)};
  return {wire::ResultStatus::kRunFailed, "the candidate's process ended with " + describe_exit(exit_status)};
}

}  // namespace hone::agent
