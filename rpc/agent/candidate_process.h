// The runner's handle on a candidate's process: fork, messages with a deadline, what it died of.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "rpc/agent/frames.h"
#include "rpc/agent/protocol.h"

namespace hone::agent {

class CandidateProcess {
 public:
  /// Forks; the child runs `body(fd)`, which must not return. Only for single-threaded processes.
  static StatusOr<CandidateProcess> fork(const std::function<void(int fd)>& body);
  CandidateProcess(CandidateProcess&& other) noexcept;
  CandidateProcess& operator=(CandidateProcess&& other) = delete;
  ~CandidateProcess();  ///< kills and reaps
  /// Kills without waiting for the end: taking down a process's memory takes a while, which another core can do. The id that reap()
  /// is to wait for; 0 when there is nothing to wait for.
  pid_t kill_only();
  static void reap(pid_t pid);

  /// Why there is no answer.
  struct Failure {
    wire::ResultStatus status;
    std::string message;
  };
  template <class Reply>
  struct Answer {
    Reply reply{};
    std::optional<Failure> failure;
  };

  /// Sends `request` (unless null) and waits for the reply. The failure is run_timeout after `seconds`, run_failed when the process died
  /// (naming the signal) or sent nonsense, cancelled when `interrupt_fd` became readable.
  template <class Reply, class Request>
  Answer<Reply> ask(const Request* request, FrameKind reply_kind, double seconds, int interrupt_fd) {
    Answer<Reply> answer;
    if (request) (void)send_frame(fd_, FrameKind::kTimeRequest, *request);
    const StatusOr<Frame> frame = receive_frame(fd_, SteadyClock().now() + in_seconds(seconds), interrupt_fd);
    if (!frame.ok()) {
      answer.failure = explain(frame.status(), seconds);
      return answer;
    }
    StatusOr<Reply> reply = from_bytes<Reply>(frame->payload);
    if (frame->kind == reply_kind && reply.ok() && believable(*reply))
      answer.reply = std::move(*reply);
    else
      answer.failure = Failure{wire::ResultStatus::kRunFailed, "the candidate's process sent something malformed"};
    return answer;
  }

 private:
  CandidateProcess(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
  static Clock::Duration in_seconds(double seconds);
  Failure explain(const Status& status, double seconds);
  int kill_and_reap();

  pid_t pid_ = 0;
  int fd_ = -1;
};

}  // namespace hone::agent
