// Child processes: started by exec (never a bare fork: safe in a multi-threaded gRPC process), killed as a group, dead
// when their parent dies.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace hone {

struct ChildOptions {
  std::vector<std::string> argv;  ///< argv[0] is the program's path
  std::vector<std::string> env;   ///< `K=V`, in addition to (and instead of) this process's own
  bool clean_env = false;         ///< only `env`, and nothing of this process's own environment
  bool channel = false;           ///< a socket pair: fd kChildChannel in the child, channel() here
  int stdout_fd = -1;             ///< -1: inherited
  int stderr_fd = -1;             ///< -1: inherited
  /// Sent to the child when the *thread* that spawned it ends, so spawn from a thread that lives as long as the
  /// process. 0: none.
  int death_signal = SIGKILL;
  /// A process group of its own: Ctrl-C of the terminal does not reach it, kill_group() takes all of it.
  bool own_group = true;
};

/// The number of the channel's file descriptor in the child.
inline constexpr int kChildChannel = 3;

/// Owns one child. Move-only; the destructor kills the child (its whole group) and reaps it.
class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  /// Errors say which program could not be started and why (kNotFound when it does not exist). stdin is /dev/null;
  /// every other descriptor of this process is closed in the child.
  static StatusOr<ChildProcess> spawn(const ChildOptions& options);

  explicit operator bool() const { return pid_ > 0; }
  /// 0 when there is none or it was reaped.
  pid_t pid() const { return pid_; }
  /// This end of the channel, -1 when none; owned by this object.
  int channel() const { return channel_; }
  /// Gives the channel away.
  int release_channel();
  /// To the child only. Nothing happens when it was reaped.
  void signal(int number) const;
  /// SIGKILL to the child's group (to the child alone when it has no group of its own).
  void kill_group() const;
  /// The wait status once the child has ended, at most `timeout` from now. The rest of its group is then killed, and
  /// the child is reaped.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  /// Waits as long as it takes.
  int wait();

 private:
  int reap();

  pid_t pid_ = 0;
  int channel_ = -1;
  bool own_group_ = false;
};

/// `exit code 3`, `SIGSEGV (Segmentation fault)`.
std::string describe_exit(int wait_status);

/// The path of a program that lies in the same folder as this one. Where this code is part of a shared library, whose
/// process is somebody else's program: in the folder bin beside the library, or beside the folder `lib` that it is in.
std::string sibling_program(const std::string& name);

/// This process gets `signal_number` when the thread that started it ends; raised at once when `parent` (a getppid()
/// from earlier, 0: not known) has already gone.
void die_with_parent(int signal_number, pid_t parent = 0);

}  // namespace hone
