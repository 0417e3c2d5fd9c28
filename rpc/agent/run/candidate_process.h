// The runner's handle on a candidate's process: fork, messages with a deadline, the cause of its end.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>

#include "rpc/agent/pipe/frames.h"
#include "rpc/agent/pipe/protocol.h"
#include "rpc/agent/run/output_check.h"

namespace hone::agent {

/// The reply of a candidate's process, or why there is none.
template <class Reply>
struct Answer {
  Reply reply{};
  std::optional<CandidateFailure> failure;
};

class CandidateProcess {
 public:
  /// Forks; the child runs `body(fd)`, which must not return. Only for single-threaded processes.
  static StatusOr<CandidateProcess> fork(const std::function<void(int fd)>& body);
  CandidateProcess(CandidateProcess&& other) noexcept;
  CandidateProcess& operator=(CandidateProcess&& other) = delete;
  ~CandidateProcess();  ///< kills and reaps
  /// Kills without waiting for the end: freeing a process's memory takes a while, which another core can do. Returns
  /// the id that reap() is to wait for; 0 when there is none.
  pid_t kill_only();
  static void reap(pid_t pid);

  /// Waits for a reply. The failure is run_timeout after `seconds`, run_failed when the process died (naming the
  /// signal) or sent nonsense, cancelled when `interrupt_fd` became readable.
  template <class Reply>
  Answer<Reply> receive(FrameKind reply_kind, double seconds, int interrupt_fd) {
    Answer<Reply> answer;
    const StatusOr<Frame> frame = receive_frame(fd_, SteadyClock().now() + in_seconds(seconds), interrupt_fd);
    if (!frame.ok()) {
      answer.failure = explain(frame.status(), seconds);
      return answer;
    }
    StatusOr<Reply> reply = from_bytes<Reply>(frame->payload);
    if (frame->kind == reply_kind && reply.ok() && believable(*reply))
      answer.reply = std::move(*reply);
    else
      answer.failure =
          CandidateFailure{wire::ResultStatus::kRunFailed, "the candidate's process sent something malformed"};
    return answer;
  }
  /// Sends `request` first.
  template <class Reply, class Request>
  Answer<Reply> ask(FrameKind kind, const Request& request, FrameKind reply_kind, double seconds, int interrupt_fd) {
    (void)send_frame(fd_, kind, request);  // where the process is gone, receive() says so
    return receive<Reply>(reply_kind, seconds, interrupt_fd);
  }
  /// Sends a message that needs no answer. False: the process is gone.
  template <class T>
  bool tell(FrameKind kind, const T& message) {
    return send_frame(fd_, kind, message).ok();
  }
  pid_t pid() const { return pid_; }
  /// Readable when it has said something, or ended.
  int descriptor() const { return fd_; }

 private:
  CandidateProcess(pid_t pid, int fd) : pid_(pid), fd_(fd) {}
  static Clock::Duration in_seconds(double seconds);
  CandidateFailure explain(const Status& status, double seconds);
  int kill_and_reap();

  pid_t pid_ = 0;
  int fd_ = -1;
};

}  // namespace hone::agent
