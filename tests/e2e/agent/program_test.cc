// The real tracker and the real device-agent, jobs over their streams.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <list>
#include <sstream>

#include "base/child_process.h"
#include "rpc/wire/admin_client.h"
#include "tests/e2e/agent/agent_fixture.h"
#include "tests/fakes/eventually.h"
#include "tests/fakes/test_session.h"

namespace hone::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    std::string dir = ::testing::TempDir() + "hone-program-XXXXXX";
    dir_ = mkdtemp(dir.data());
    setenv("HONE_HOST_LOCK", (dir_ + "/lock").c_str(), 1);
    address_ = "unix:" + dir_ + "/sock";
  }
  ~ProgramTest() override {
    session_.reset();
    children_.clear();
    std::filesystem::remove_all(dir_);
  }

  ChildProcess& start(const std::vector<std::string>& argv) {
    ChildOptions options;
    options.argv = argv;
    options.argv[0] = sibling_program(argv[0]);
    const int log = open((dir_ + "/" + std::filesystem::path(argv[0]).filename().string() + ".log").c_str(),
                         O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    options.stdout_fd = options.stderr_fd = log;
    StatusOr<ChildProcess> child = ChildProcess::spawn(options);
    close(log);
    EXPECT_TRUE(child.ok()) << child.status();
    children_.push_back(std::move(*child));
    return children_.back();
  }
  void start_tracker() { start({"tracker", "--listen", address_, "--http", "none"}); }
  ChildProcess& start_agent(const std::string& name) {
    return start({"device-agent", "--target", "llvm", "--tracker", address_, "--name", name});
  }

  std::string log_of(const std::string& program) {
    std::ostringstream text;
    text << std::ifstream(dir_ + "/" + program + ".log").rdbuf();
    return text.str();
  }

  void open_session() { session_ = std::make_unique<wire::TestSession>(*wire::Address::parse(address_)); }

  wire::Job job(uint64_t seq, const Module& m) {
    wire::Job j;
    j.seq = seq;
    j.modules = {session_->add_blob(encode(m))};
    j.reference.emplace();
    j.reference->module_hash = session_->add_blob(encode(add_reference()));
    j.reference->samples = {{}};
    return j;
  }
  std::string dir_, address_;
  std::list<ChildProcess> children_;
  std::unique_ptr<wire::TestSession> session_;
};

TEST_F(ProgramTest, MeasuresWhatASessionSubmits) {
  start_tracker();
  ChildProcess& agent = start_agent("lab");
  open_session();
  session_->client_->submit(
      {job(1, add_module()), job(2, add_module({.wrong_tail = 1})), job(3, add_module({.repeats = 3}))});
  ASSERT_TRUE(session_->wait_results(3)) << log_of("device-agent");
  EXPECT_EQ(session_->result(1).candidates[0].status, ResultStatus::kOk) << session_->result(1).candidates[0].message;
  EXPECT_EQ(session_->result(2).candidates[0].status, ResultStatus::kWrongResult);
  EXPECT_EQ(session_->result(3).candidates[0].status, ResultStatus::kOk);
  EXPECT_EQ(session_->result(1).device, "lab/cpu");
  EXPECT_GT(session_->result(1).phases.build, 0);
  EXPECT_GT(session_->result(1).sentinel_before, 0);
  EXPECT_THAT(log_of("device-agent"), HasSubstr("connected to " + address_ + ", offering lab/cpu (llvm"));
  agent.signal(SIGTERM);
  const std::optional<int> status = agent.wait(20s);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(describe_exit(*status), "exit code 0");
}

TEST_F(ProgramTest, WaitsForATrackerThatIsNotThereYet) {
  start_agent("early");
  start_tracker();
  open_session();
  session_->client_->submit({job(1, add_module())});
  EXPECT_TRUE(session_->wait_results(1)) << log_of("device-agent");
}

TEST_F(ProgramTest, SaysWhyItCannotReachItsTrackerAndGoesOnTrying) {
  start_agent("early");
  EXPECT_TRUE(eventually([&] {
    return log_of("device-agent").find("device-agent: cannot reach " + address_ + ": no such socket\n") !=
           std::string::npos;
  })) << log_of("device-agent");
  start_tracker();
  EXPECT_TRUE(eventually([&] { return log_of("device-agent").find("connected to " + address_) != std::string::npos; }))
      << log_of("device-agent");
}

TEST_F(ProgramTest, GivesUpWithTheExitCodeOfTrackerStatus) {
  std::ofstream(dir_ + "/tokens") << "agent lab 0123456789abcdef0123456789abcdef\n";
  std::ofstream(dir_ + "/wrong") << "fedcba9876543210fedcba9876543210\n";
  for (const char* name : {"/tokens", "/wrong"})
    std::filesystem::permissions(dir_ + name, std::filesystem::perms::owner_read);
  start({"tracker", "--listen", address_, "--http", "none", "--token-file", dir_ + "/tokens"});
  ASSERT_TRUE(eventually([&] { return log_of("tracker").find("listening") != std::string::npos; }));
  const auto code_of = [&](std::vector<std::string> argv) {
    argv.insert(argv.end(), {"--tracker", address_, "--token-file", dir_ + "/wrong"});
    const std::optional<int> status = start(argv).wait(60s);
    return status ? WEXITSTATUS(*status) : -1;
  };
  EXPECT_EQ(code_of({"tracker", "status"}), 2);
  EXPECT_EQ(code_of({"device-agent", "--target", "llvm", "--name", "lab"}), 2);
  EXPECT_THAT(log_of("device-agent"), HasSubstr("refused this agent: "));
}

TEST_F(ProgramTest, StatusOfADeviceThatIsNotThereNamesThoseThatAre) {
  start_tracker();
  start_agent("lab");
  ASSERT_TRUE(eventually([&] { return log_of("device-agent").find("connected to") != std::string::npos; }));
  const auto ask = [&](const std::string& device) {
    const std::optional<int> status = start({"tracker", "status", "--tracker", address_, "--device", device}).wait(60s);
    return status ? WEXITSTATUS(*status) : -1;
  };
  EXPECT_EQ(ask("lab"), 0);
  EXPECT_EQ(ask("lab9"), 2);
  EXPECT_THAT(log_of("tracker"), HasSubstr("--device: no device, agent or label is called 'lab9'; there are: lab/cpu"));
}

class RestartTest : public ProgramTest {
 protected:
  ChildProcess& start_keeping_tracker() {
    return start({"tracker", "--listen", address_, "--http", "none", "--state", dir_ + "/state"});
  }
  bool becomes(const std::string& state) {
    return eventually([&] {
      const auto status = wire::fetch_status(*wire::Address::parse(address_), 10s);
      return status.ok() && !status->devices.empty() && status->devices[0].state == state;
    });
  }
  Status administer(const std::string& action) {
    return wire::administer(*wire::Address::parse(address_), action, "lab/cpu", 10s).status();
  }
  static void kill_and_wait(ChildProcess& child) {
    child.signal(SIGKILL);
    EXPECT_TRUE(child.wait(20s).has_value());
  }
};

TEST_F(RestartTest, ADrainIsBroughtByTheAgentAndAQuarantineByTheFile) {
  ChildProcess& first = start_keeping_tracker();
  ChildProcess& agent = start_agent("lab");
  ASSERT_TRUE(becomes("idle")) << log_of("device-agent");
  ASSERT_TRUE(administer("drain").ok());
  ASSERT_TRUE(
      eventually([&] { return log_of("device-agent").find("drained by hand: lab/cpu\n") != std::string::npos; }));
  kill_and_wait(first);
  ChildProcess& second = start_keeping_tracker();
  EXPECT_TRUE(becomes("draining")) << log_of("device-agent");
  ASSERT_TRUE(administer("quarantine").ok());
  kill_and_wait(second);
  ChildProcess& third = start_keeping_tracker();
  EXPECT_TRUE(becomes("quarantined")) << log_of("device-agent");
  kill_and_wait(agent);
  kill_and_wait(third);
  start_keeping_tracker();
  start_agent("lab");
  EXPECT_TRUE(becomes("quarantined")) << "another process of the agent does not lift it";
  ASSERT_TRUE(administer("resume").ok());
  EXPECT_TRUE(becomes("idle"));
}

TEST_F(ProgramTest, AKilledAgentLosesNothing) {
  start_tracker();
  ChildProcess& first = start_agent("first");
  open_session();
  std::vector<wire::Job> jobs;
  for (uint64_t seq = 1; seq <= 24; ++seq) jobs.push_back(job(seq, add_module({.repeats = static_cast<int64_t>(seq)})));
  session_->client_->submit(jobs);
  ASSERT_TRUE(session_->wait_results(1)) << log_of("device-agent");
  first.signal(SIGKILL);
  start_agent("second");
  ASSERT_TRUE(session_->wait_results(24)) << log_of("device-agent") << log_of("tracker");
  for (uint64_t seq = 1; seq <= 24; ++seq)
    EXPECT_EQ(session_->result(seq).candidates.at(0).status, ResultStatus::kOk)
        << seq << ": " << session_->result(seq).candidates[0].message;
}

// The agent's children and theirs.
std::vector<pid_t> descendants(pid_t parent) {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); })) continue;
    // The process may go while its file is read: then there is nothing in it.
    std::ostringstream read;
    read << std::ifstream(entry.path() / "stat").rdbuf();
    const std::string stat = read.str();
    const size_t close = stat.rfind(')');
    char state = 0;
    int ppid = 0;
    if (close == std::string::npos || std::sscanf(stat.c_str() + close + 1, " %c %d", &state, &ppid) != 2 ||
        ppid != parent || state == 'Z')
      continue;
    const pid_t pid = std::stoi(name);
    out.push_back(pid);
    const std::vector<pid_t> below = descendants(pid);
    out.insert(out.end(), below.begin(), below.end());
  }
  return out;
}

class ShutdownTest : public ProgramTest {
 protected:
  /// Has the agent run a candidate of many minutes; its children, the candidate's process included.
  std::vector<pid_t> run_for_long(pid_t agent) {
    wire::Job endless = job(1, add_module({.repeats = int64_t{1} << 40}));
    endless.profile.run_timeout_s = 600;
    session_->client_->submit({endless, job(2, add_module())});
    // Builder(s), the runner, and below it the candidate.
    EXPECT_TRUE(eventually([&] {
      for (const pid_t child : descendants(agent))
        if (std::ifstream comm("/proc/" + std::to_string(child) + "/comm"); comm) {
          std::string name;
          comm >> name;
          if (name == "hone-runner" && !descendants(child).empty()) return true;
        }
      return false;
    })) << log_of("device-agent");
    return descendants(agent);
  }
  static bool all_gone(const std::vector<pid_t>& pids) {
    return eventually(
        [&] { return std::all_of(pids.begin(), pids.end(), [](pid_t pid) { return kill(pid, 0) != 0; }); });
  }
};

TEST_F(ShutdownTest, WaitsForWhatRunsAndASecondSignalDoesNot) {
  start_tracker();
  ChildProcess& agent = start_agent("lab");
  open_session();
  const std::vector<pid_t> children = run_for_long(agent.pid());
  ASSERT_GE(children.size(), 3U);
  agent.signal(SIGTERM);
  EXPECT_FALSE(agent.wait(300ms).has_value()) << "it left although a candidate runs";
  agent.signal(SIGTERM);
  const std::optional<int> status = agent.wait(20s);
  ASSERT_TRUE(status.has_value()) << log_of("device-agent");
  EXPECT_EQ(describe_exit(*status), "exit code 0");
  EXPECT_TRUE(all_gone(children));
}

TEST_F(ShutdownTest, NoChildOutlivesAKilledAgent) {
  start_tracker();
  ChildProcess& agent = start_agent("lab");
  open_session();
  const std::vector<pid_t> children = run_for_long(agent.pid());
  ASSERT_GE(children.size(), 3U);
  agent.signal(SIGKILL);
  ASSERT_TRUE(agent.wait(20s).has_value());
  EXPECT_TRUE(all_gone(children));
}

TEST_F(ProgramTest, SaysWhatItIsolatesBy) {
  start_tracker();
  start_agent("lab");
  open_session();
  session_->client_->submit({job(1, add_module())});
  ASSERT_TRUE(session_->wait_results(1)) << log_of("device-agent");
  EXPECT_THAT(log_of("device-agent"), HasSubstr("isolation of modules: "));
}

// It measures all the same; who reads the trials knows.
TEST_F(ProgramTest, SaysWhatAPoorKernelDoesNotGrant) {
  start_tracker();
  start({"../hostile/poor-kernel", sibling_program("device-agent"), "--target", "llvm", "--tracker", address_, "--name",
         "poor"});
  open_session();
  session_->client_->submit({job(1, add_module()), job(2, add_module({.wrong_tail = 1}))});
  ASSERT_TRUE(session_->wait_results(2)) << log_of("poor-kernel");
  EXPECT_EQ(session_->result(1).candidates[0].status, ResultStatus::kOk) << session_->result(1).candidates[0].message;
  EXPECT_EQ(session_->result(2).candidates[0].status, ResultStatus::kWrongResult);
  EXPECT_THAT(log_of("poor-kernel"), HasSubstr("this system lacks: network namespace, landlock"));
  ASSERT_TRUE(session_->wait_devices(1));
  const std::lock_guard lock(session_->mutex_);
  EXPECT_THAT(session_->devices_[0].missing, ::testing::IsSupersetOf({"network namespace", "landlock"}));
  EXPECT_THAT(session_->devices_[0].features, ::testing::Not(::testing::IsEmpty()));
}

// Its session would have it run for a day.
TEST_F(ProgramTest, AnEndlessKernelHoldsTheDeviceNoLongerThanTheAgentAllows) {
  start_tracker();
  start({"device-agent", "--target", "llvm", "--tracker", address_, "--name", "lab", "--max-run-timeout", "1"});
  open_session();
  wire::Job endless = job(1, add_module({.repeats = int64_t{1} << 40}));
  endless.profile.run_timeout_s = 86400;
  endless.profile.best_seconds = 86400;
  session_->client_->submit({endless, job(2, add_module())});
  ASSERT_TRUE(session_->wait_results(2)) << log_of("device-agent");
  EXPECT_EQ(session_->result(1).candidates[0].status, ResultStatus::kRunTimeout);
  EXPECT_EQ(session_->result(1).candidates[0].message,
            "the kernel was still running after 1 s (the agent's --max-run-timeout is 1 s)");
  EXPECT_EQ(session_->result(2).candidates[0].status, ResultStatus::kOk) << session_->result(2).candidates[0].message;
}

TEST_F(ProgramTest, SaysWhenNoDeviceServesTheTarget) {
  const std::optional<int> cuda = start({"device-agent", "--target", "cuda"}).wait(20s);
  ASSERT_TRUE(cuda.has_value());
  EXPECT_EQ(WEXITSTATUS(*cuda), 3);
  EXPECT_THAT(log_of("device-agent"), HasSubstr("--target cuda: no device of this machine serves it"));
}

TEST_F(ProgramTest, BadUsageIsOneLine) {
  const std::vector<std::vector<std::string>> bad = {{"--target", "vax"},
                                                     {"--label", "x"},
                                                     {"--threads", "-1"},
                                                     {"--name", "a/b"},
                                                     {"--tracker", "192.0.2.1:9"},
                                                     {"--tracker", "nonsense"},
                                                     {"--no-such-flag"},
                                                     {"--max-run-timeout", "0"},
                                                     {"--max-build-timeout", "nan"},
                                                     {"--max-run-timeout", "90000"}};
  for (const std::vector<std::string>& words : bad) {
    std::vector<std::string> argv = {"device-agent"};
    argv.insert(argv.end(), words.begin(), words.end());
    const std::string before = log_of("device-agent");
    const std::optional<int> status = start(argv).wait(20s);
    ASSERT_TRUE(status.has_value());
    EXPECT_EQ(WEXITSTATUS(*status), 2) << words[0];
    const std::string line = log_of("device-agent").substr(before.size());
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  }
}

}  // namespace
}  // namespace hone::agent
