#include "tests/bench/fleet_tracker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "rpc/wire/messages/uuid.h"

namespace hone::bench {
namespace {

// The first line that a pipe gives within ten seconds.
std::string first_line(int fd) {
  std::string line;
  for (char c; line.find('\n') == std::string::npos;) {
    pollfd waiting{fd, POLLIN, 0};
    if (poll(&waiting, 1, 10'000) <= 0 || read(fd, &c, 1) != 1) break;
    line += c;
  }
  return line;
}

}  // namespace

StatusOr<TrackerProcess> TrackerProcess::start(bool plain, std::vector<std::string> more) {
  TrackerProcess out;
  out.argv_ = {sibling_program("tracker"), "--http", "none", "--allow-fake"};
  if (!plain) HONE_RETURN_IF_ERROR(out.protect());
  out.argv_.insert(out.argv_.end(), more.begin(), more.end());
  out.address_ = *wire::Address::parse("127.0.0.1:0");
  HONE_RETURN_IF_ERROR(out.spawn());
  return out;
}

// The files of `tracker init-tls`, and one token for all simulated agents, valid for every name.
Status TrackerProcess::protect() {
  ChildOptions make;
  make.argv = {sibling_program("tracker"), "init-tls", folder_->path() + "/tls", "--host", "127.0.0.1"};
  make.stdout_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  auto child = ChildProcess::spawn(make);
  close(make.stdout_fd);
  HONE_RETURN_IF_ERROR(child.status());
  if (child->wait() != 0) return absl::InternalError("tracker init-tls failed");
  const auto path = [&](const std::string& name) { return folder_->path() + "/tls/" + name; };
  const std::string agent_token = wire::Uuid::random().text();
  std::ofstream(path("tokens"), std::ios::app) << "agent * " << agent_token << "\n";
  HONE_ASSIGN_OR_RETURN(session_, wire::load_credentials({.ca = path("ca.pem"), .token = path("tuner.token")}));
  agent_ = session_;
  agent_.token = agent_token;
  argv_.insert(argv_.end(),
               {"--tls-cert", path("tracker.pem"), "--tls-key", path("tracker.key"), "--token-file", path("tokens")});
  return absl::OkStatus();
}

Status TrackerProcess::spawn() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::InternalError("no pipe");
  ChildOptions options;
  options.argv = argv_;
  options.argv.insert(options.argv.end(), {"--listen", address_.text()});
  options.stdout_fd = ends[1];
  auto child = ChildProcess::spawn(options);
  close(ends[1]);
  const std::string line = child.ok() ? first_line(ends[0]) : "";
  close(ends[0]);
  HONE_RETURN_IF_ERROR(child.status());
  child_ = *std::move(child);
  const std::string before = "listening on ";
  const size_t at = line.find(before);
  if (at == std::string::npos) return absl::InternalError("the tracker did not start");
  const size_t begin = at + before.size();
  HONE_ASSIGN_OR_RETURN(address_, wire::Address::parse(line.substr(begin, line.find(',') - begin)));
  return absl::OkStatus();
}

Status TrackerProcess::restart() {
  child_.kill_group();
  child_.wait();
  return spawn();
}

wire::ClientOptions TrackerProcess::agent() const { return {address_, {}, 1, nullptr, agent_}; }
wire::ClientOptions TrackerProcess::session() const { return {address_, {}, 1, nullptr, session_}; }

uint64_t TrackerProcess::resident_bytes() const {
  std::ifstream statm(fmt::format("/proc/{}/statm", child_.pid()));
  uint64_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

double TrackerProcess::cpu_seconds() const {
  std::ifstream stat(fmt::format("/proc/{}/stat", child_.pid()));
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 3; i < 14; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace hone::bench
