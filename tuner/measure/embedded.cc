#include "tuner/measure/embedded.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/exit_code.h"
#include "base/log.h"
#include "rpc/wire/access/credential_flags.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

std::string prefix() { return fmt::format("hone-tuner-{}-", getuid()); }

// Folders are named after the process that made them: one without its process is left over from a SIGKILL.
void remove_leftovers(const std::string& temp_dir) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(temp_dir, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix())) continue;
    const int pid = std::atoi(name.c_str() + prefix().size());
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

std::string last_line(const std::string& path) {
  std::ifstream in(path);
  std::string line, last;
  while (std::getline(in, line))
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  return last;
}

}  // namespace

EmbeddedOptions sibling_programs() {
  EmbeddedOptions options;
  options.tracker = {sibling_program("tracker")};
  options.agent = {sibling_program("device-agent")};
  // A socket's path has room for 107 bytes.
  if (const char* dir = std::getenv("TMPDIR"); dir && *dir && std::strlen(dir) < 60) options.temp_dir = dir;
  return options;
}

StatusOr<std::unique_ptr<Embedded>> Embedded::start(EmbeddedOptions options, const std::string& target_kind) {
  remove_leftovers(options.temp_dir);
  std::unique_ptr<Embedded> e(new Embedded);
  e->options_ = std::move(options);
  std::string dir = fmt::format("{}/{}{}-XXXXXX", e->options_.temp_dir, prefix(), getpid());
  if (!mkdtemp(dir.data()))
    return absl::InvalidArgumentError(
        fmt::format("no folder in {} for the tuner's socket: {}", e->options_.temp_dir, strerror(errno)));
  e->dir_ = dir;
  e->address_.path = dir + "/sock";
  const std::string at = e->address_.text();
  const auto with = [](std::vector<std::string> argv, const std::vector<std::string>& more) {
    argv.insert(argv.end(), more.begin(), more.end());
    return argv;
  };
  e->tracker_.name = "tracker";
  e->tracker_.argv = with(e->options_.tracker, {"--listen", at, "--http", "none", "--exit-with-parent"});
  e->agent_.name = "device-agent";
  e->agent_.argv = with(e->options_.agent, {"--tracker", at, "--target", target_kind, "--exit-with-parent"});
  for (Program* p : {&e->tracker_, &e->agent_}) {
    p->log = dir + "/" + p->name + ".log";
    if (Status s = e->launch(*p); !s.ok()) return s;
  }
  return e;
}

Embedded::~Embedded() {
  // SIGTERM first: the agent must end its own children. Both programs leave on it.
  for (Program* p : {&agent_, &tracker_}) p->child.signal(SIGTERM);
  for (Program* p : {&agent_, &tracker_})
    if (p->child && !p->child.wait(milliseconds(1500))) p->child.kill_group();
  agent_.child = ChildProcess();
  tracker_.child = ChildProcess();
  std::error_code ignored;
  if (!dir_.empty()) fs::remove_all(dir_, ignored);
}

Status Embedded::check() {
  for (Program* p : {&tracker_, &agent_}) {
    const auto ended = p->child.wait(milliseconds(0));
    if (!ended) continue;
    const std::string why = last_line(p->log);
    // A failure that the program itself explains has its cause outside of the program.
    const std::string own_words = why.starts_with(p->name + ": ") ? why.substr(p->name.size() + 2) : why;
    const int code = WIFEXITED(*ended) ? WEXITSTATUS(*ended) : 0;
    if (code == kExitNoDevice) return no_device_error(own_words);
    if (code == kExitUsage) return usage_error(fmt::format("the tuner's own {}: {}", p->name, own_words));
    const std::string what = fmt::format("the tuner's own {} ended with {}{}{}", p->name, describe_exit(*ended),
                                         why.empty() ? "" : ": ", why);
    if (p->starts > options_.restarts) return absl::InternalError(what);
    log::warn("{}; starting it again", what);
    HONE_RETURN_IF_ERROR(launch(*p));
  }
  return absl::OkStatus();
}

Status Embedded::launch(Program& p) {
  ++p.starts;
  const int fd = open(p.log.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) return absl::InternalError(fmt::format("{}: {}", p.log, strerror(errno)));
  ChildOptions options;
  options.argv = p.argv;
  options.env = {std::string(wire::kFleetVariable) + "="};  // they know each other, and no fleet
  options.stdout_fd = fd;
  options.stderr_fd = fd;
  auto child = ChildProcess::spawn(options);
  close(fd);
  if (!child.ok())
    return usage_error(fmt::format("the tuner's own {}: {}; tuner, tracker and the agent's programs belong together",
                                   p.name, message_of(child.status())));
  p.child = *std::move(child);
  return absl::OkStatus();
}

}  // namespace hone
