#include "base/child_process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

namespace hone {
namespace {

// Everything the child needs between vfork and exec, prepared by the parent: until exec the child shares the parent's
// memory and may only make system calls.
struct Exec {
  char** argv;
  char** envp;
  int null_fd, channel, stdout_fd, stderr_fd, death_signal;
  bool own_group;
  pid_t parent;
  long max_fd;
};

void close_from(int first, long max_fd) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
  for (int fd = first; fd < max_fd; ++fd) close(fd);
}

// Returns only after a failure, with errno set.
void exec_child(const Exec& e) {
  if (e.own_group && setpgid(0, 0) != 0) return;
  if (e.death_signal && prctl(PR_SET_PDEATHSIG, e.death_signal) != 0) return;
  if (e.death_signal && getppid() != e.parent) _exit(126);  // the parent died before the line above
  // Move descriptors that are kept above the numbers that are about to be overwritten.
  const int channel = e.channel >= 0 ? fcntl(e.channel, F_DUPFD, 10) : -1;
  const int out = e.stdout_fd >= 0 ? fcntl(e.stdout_fd, F_DUPFD, 10) : 1;
  const int err = e.stderr_fd >= 0 ? fcntl(e.stderr_fd, F_DUPFD, 10) : 2;
  if (dup2(e.null_fd, 0) < 0) return;
  if (out != 1 && dup2(out, 1) < 0) return;
  if (err != 2 && dup2(err, 2) < 0) return;
  if (channel >= 0 && dup2(channel, kChildChannel) < 0) return;
  close_from(channel >= 0 ? kChildChannel + 1 : kChildChannel, e.max_fd);
  for (int s = 1; s < NSIG; ++s) {
    if (s != SIGKILL && s != SIGSTOP) ::signal(s, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(e.argv[0], e.argv, e.envp);
}

// The child's memory is this process's until exec, so it reports an error in `failure`, on the parent's
// stack.
pid_t vfork_exec(const Exec& e, volatile int* failure) {
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork): a fork would copy the page tables of a large tracker
  const pid_t pid = vfork();
  if (pid == 0) {
    exec_child(e);
    *failure = errno;
    _exit(127);
  }
  return pid;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& w : words) out.push_back(w.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> merged_environment(const std::vector<std::string>& extra) {
  std::vector<std::string> out = extra;
  for (char** e = environ; *e; ++e) {
    const std::string_view entry = *e, key = entry.substr(0, entry.find('=') + 1);
    if (std::none_of(extra.begin(), extra.end(), [&](const std::string& x) { return x.starts_with(key); }))
      out.emplace_back(entry);
  }
  return out;
}

}  // namespace

StatusOr<ChildProcess> ChildProcess::spawn(const ChildOptions& options) {
  std::vector<std::string> argv = options.argv, env = options.clean_env ? options.env : merged_environment(options.env);
  const std::vector<char*> argv_pointers = pointers(argv), env_pointers = pointers(env);
  int pair[2] = {-1, -1};
  if (options.channel && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return absl::ResourceExhaustedError(fmt::format("cannot start {}: {}", argv.at(0), strerror(errno)));
  const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  const Exec e{const_cast<char**>(argv_pointers.data()),
               const_cast<char**>(env_pointers.data()),
               null_fd,
               pair[1],
               options.stdout_fd,
               options.stderr_fd,
               options.death_signal,
               options.own_group,
               getpid(),
               sysconf(_SC_OPEN_MAX)};
  // No handler of this process may run in the child while it shares our memory.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  volatile int failure = 0;
  const pid_t pid = vfork_exec(e, &failure);
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(null_fd);
  if (pair[1] >= 0) close(pair[1]);
  if (pid < 0 || failure != 0) {
    if (pid > 0) waitpid(pid, nullptr, 0);
    if (pair[0] >= 0) close(pair[0]);
    const int error = pid < 0 ? fork_error : failure;
    const std::string text = fmt::format("cannot start {}: {}", argv.at(0), strerror(error));
    return error == ENOENT ? absl::NotFoundError(text) : absl::ResourceExhaustedError(text);
  }
  ChildProcess child;
  child.pid_ = pid;
  child.channel_ = pair[0];
  child.own_group_ = options.own_group;
  return child;
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), channel_(std::exchange(other.channel_, -1)), own_group_(other.own_group_) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(channel_, other.channel_);
  std::swap(own_group_, other.own_group_);
  return *this;
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    kill_group();
    wait();
  }
  if (channel_ >= 0) close(channel_);
}

int ChildProcess::release_channel() { return std::exchange(channel_, -1); }

void ChildProcess::signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

void ChildProcess::kill_group() const {
  if (pid_ > 0) kill(own_group_ ? -pid_ : pid_, SIGKILL);
}

// The child has ended: kills processes that it left in its group. Before the child is reaped: until then its number,
// and so the group's, cannot belong to another process.
int ChildProcess::reap() {
  if (own_group_) kill(-pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return status;
}

int ChildProcess::wait() {
  if (pid_ <= 0) return 0;
  siginfo_t info;
  while (waitid(P_PID, pid_, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  return reap();
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds timeout) {
  if (pid_ <= 0) return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  std::optional<int> result;
  while (!result) {
    siginfo_t info{};
    if (waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_) {
      result = reap();
      break;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) break;
    pollfd p{pidfd, POLLIN, 0};
    // Without pidfd_open (before Linux 5.3) poll sleeps a little and looks again.
    poll(&p, pidfd >= 0 ? 1 : 0, pidfd >= 0 ? static_cast<int>(left) : 2);
  }
  if (pidfd >= 0) close(pidfd);
  return result;
}

std::string describe_exit(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  if (!WIFSIGNALED(status)) return fmt::format("wait status {}", status);
  const int number = WTERMSIG(status);
  const char* name = sigabbrev_np(number);
  return fmt::format("SIG{} ({})", name ? name : std::to_string(number), strsignal(number));
}

namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string real_path(const char* path) {
  char* const real = realpath(path, nullptr);
  const std::string out = real ? real : "";
  free(real);
  return out;
}

}  // namespace

std::string sibling_program(const std::string& name) {
  const std::string self = real_path("/proc/self/exe");
  Dl_info here{};
  const std::string file =
      dladdr(reinterpret_cast<const void*>(&sibling_program), &here) && here.dli_fname ? real_path(here.dli_fname) : "";
  // The loader's name of the program itself is how it was called, which need not be a path from here.
  if (file.empty() || file == self || file.find(".so", file.rfind('/')) == std::string::npos)
    return folder_of(self) + "/" + name;
  const std::string folder = folder_of(file);
  // A wheel; a build or /usr/lib; /usr/lib/x86_64-linux-gnu.
  for (const char* bin : {"/bin/", "/../bin/", "/../../bin/"})
    if (const std::string path = folder + bin + name; access(path.c_str(), F_OK) == 0) return path;
  return folder + "/bin/" + name;
}

void die_with_parent(int signal_number, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, signal_number);
  if (parent != 0 && getppid() != parent) raise(signal_number);
}

}  // namespace hone
