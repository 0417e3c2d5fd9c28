// A write to a pipe without a reader, or to a file that may not grow, is an error to report, not an end of the process.
#pragma once

#include <csignal>
#include <ctime>

namespace hone::api {

/// Blocks SIGPIPE and SIGXFSZ on this thread, and on those that it starts; takes the signals that came meanwhile.
class NoSignals {
 public:
  NoSignals() {
    sigemptyset(&ours_);
    sigset_t pending;
    sigpending(&pending);
    for (const int number : {SIGPIPE, SIGXFSZ})
      if (!sigismember(&pending, number)) sigaddset(&ours_, number);
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~NoSignals() {
    const timespec now{};
    while (sigtimedwait(&ours_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t ours_{}, before_{};
};

}  // namespace hone::api
