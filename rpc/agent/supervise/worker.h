// The supervisor's handle on a builder or a runner: a child process and frames to and from it, asynchronously.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "rpc/agent/pipe/asio.h"
#include "rpc/agent/pipe/frames.h"

namespace hone::agent {

class Worker : public std::enable_shared_from_this<Worker> {
 public:
  /// Starts `program` (a sibling of this one). It gets only the part of this process's environment that it needs:
  /// secrets may lie in the rest.
  static StatusOr<std::shared_ptr<Worker>> start(asio::io_context& io, const std::string& program,
                                                 const std::vector<std::string>& arguments);
  ~Worker();

  awaitable<Status> send(FrameKind kind, std::string payload);
  /// Sends without anybody who waits; keeps itself until that is done. Not while another frame is being sent.
  void tell(FrameKind kind, std::string payload);
  /// The next frame. DeadlineExceeded after `seconds`; Aborted when the process died: says how, with its last words. In
  /// both cases the process is gone.
  awaitable<StatusOr<Frame>> receive(double seconds);
  void kill() { child_.kill_group(); }
  pid_t pid() const { return child_.pid(); }
  /// After an error of receive(): another process killed it by SIGKILL (it did not end itself, and the deadline had not
  /// passed).
  bool was_killed() const { return was_killed_; }

 private:
  explicit Worker(asio::io_context& io) : socket_(io), timer_(io) {}
  awaitable<boost::system::error_code> read(void* data, size_t n);
  Status died();
  std::string last_words() const;

  ChildProcess child_;
  asio::local::stream_protocol::socket socket_;
  asio::steady_timer timer_;
  int stderr_fd_ = -1;
  bool timed_out_ = false, was_killed_ = false;
};

}  // namespace hone::agent
