// A PostgreSQL of a test's own: in a temporary folder, reached through a socket in it alone, gone with the object.
#pragma once

#include <fcntl.h>
#include <pwd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/child_process.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {

class PostgresServer {
 public:
  /// The folder of PostgreSQL's programs, as Debian has it; empty: it is not installed.
  static std::string programs() {
    std::error_code ec;
    std::string newest;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/postgresql", ec))
      if (std::filesystem::exists(entry.path() / "bin" / "initdb", ec) &&
          std::filesystem::exists(entry.path() / "bin" / "postgres", ec))
        newest = std::max(newest, (entry.path() / "bin").string());
    return newest;
  }
  /// Why no test can have one; empty: it can.
  static std::string why_not() {
    if (programs().empty()) return "PostgreSQL is not installed (`deploy/setup` installs it)";
    if (geteuid() == 0 && !user()) return "PostgreSQL does not run as root, and there is no user postgres or nobody";
    return "";
  }

  /// `durable`: commits wait for the disk, as they do outside of tests.
  explicit PostgresServer(bool durable = false) : durable_(durable) {
    // The server's user must get through to the data.
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
    data_ = folder_.path() + "/data", sockets_ = folder_.path() + "/run";
    std::filesystem::create_directory(sockets_);
    if (const passwd* u = geteuid() == 0 ? user() : nullptr)
      if (chown(folder_.path().c_str(), u->pw_uid, u->pw_gid) != 0 ||
          chown(sockets_.c_str(), u->pw_uid, u->pw_gid) != 0)
        throw std::runtime_error("chown " + folder_.path());
    run({programs() + "/initdb", "--pgdata=" + data_, "--username=hone", "--auth=trust", "--encoding=UTF8",
         "--locale=C.UTF-8", "--no-sync", "--no-instructions"});
    start();
  }
  ~PostgresServer() { stop(); }
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  /// Starts it, and returns once it takes connections.
  void start() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (std::chrono::steady_clock::now() < end) {
      // One that was killed leaves processes behind, which end by themselves; until then no other one starts.
      if (!server_ || server_.wait(std::chrono::milliseconds(0)))
        server_ = spawn({programs() + "/postgres", "-D", data_, "-k", sockets_, "-c", "listen_addresses=", "-c",
                         std::string("fsync=") + (durable_ ? "on" : "off"), "-c", "max_connections=60"});
      auto asked = spawn({programs() + "/pg_isready", "--quiet", "--host=" + sockets_, "--username=hone"});
      if (asked.wait() == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    throw std::runtime_error("PostgreSQL takes no connections: " + log());
  }
  /// As `pg_ctl stop -m fast`: what is committed is kept, connections are cut.
  void stop() {
    if (!server_) return;
    server_.signal(SIGINT);
    if (server_.wait(std::chrono::seconds(60))) server_ = ChildProcess();
    kill();
  }
  /// As a crash: the server dies at once, and its processes with it, in the middle of what they do.
  void kill() {
    if (!server_) return;
    server_.signal(SIGKILL);
    server_.wait();
    server_ = ChildProcess();
  }

  /// A new, empty database.
  std::string new_database() {
    static std::atomic<int> number = 0;
    const std::string name = "hub" + std::to_string(++number);
    run({programs() + "/createdb", "--host=" + sockets_, "--username=hone", name});
    return url(name);
  }
  std::string url(const std::string& database) const { return "postgresql://hone@/" + database + "?host=" + sockets_; }
  const std::string& socket_folder() const { return sockets_; }

 private:
  static const passwd* user() {
    const passwd* found = getpwnam("postgres");
    return found ? found : getpwnam("nobody");
  }
  std::string log() const {
    std::ifstream in(folder_.path() + "/log");
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  ChildProcess spawn(std::vector<std::string> argv) const {
    ChildOptions options;
    if (geteuid() == 0) {
      const passwd* u = user();
      options.argv = {"/usr/bin/setpriv",
                      "--reuid=" + std::to_string(u->pw_uid),
                      "--regid=" + std::to_string(u->pw_gid),
                      "--clear-groups",
                      "--pdeathsig=keep",
                      "--"};
    }
    options.argv.insert(options.argv.end(), argv.begin(), argv.end());
    options.env = {"LC_ALL=C.UTF-8", "HOME=" + folder_.path()};
    const int out = open((folder_.path() + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    options.stdout_fd = out, options.stderr_fd = out;
    auto child = ChildProcess::spawn(options);
    close(out);
    if (!child.ok()) throw std::runtime_error(message_of(child.status()));
    return std::move(child).value();
  }
  void run(std::vector<std::string> argv) const {
    const std::string name = argv[0];
    auto child = spawn(std::move(argv));
    if (child.wait() != 0) throw std::runtime_error(name + " failed: " + log());
  }

  TemporaryFolder folder_;
  const bool durable_;
  std::string data_, sockets_;
  ChildProcess server_;
};

}  // namespace hone
