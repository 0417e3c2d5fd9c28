// The real tracker and the real device-agent, jobs over their streams.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <mutex>
#include <sstream>

#include "base/child_process.h"
#include "rpc/wire/session_client.h"
#include "tests/e2e/agent/agent_fixture.h"

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
    const int log = open((dir_ + "/" + argv[0] + ".log").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    options.stdout_fd = options.stderr_fd = log;
    StatusOr<ChildProcess> child = ChildProcess::spawn(options);
    close(log);
    EXPECT_TRUE(child.ok()) << child.status();
    children_.push_back(std::move(*child));
    return children_.back();
  }
  void start_tracker() { start({"tracker", "--listen", address_, "--http", "none"}); }
  ChildProcess& start_agent(const std::string& name) { return start({"device-agent", "--tracker", address_, "--name", name}); }

  std::string log_of(const std::string& program) {
    std::ostringstream text;
    text << std::ifstream(dir_ + "/" + program + ".log").rdbuf();
    return text.str();
  }

  void open_session() {
    wire::ClientOptions options;
    options.tracker = *wire::Address::parse(address_);
    wire::SessionOpen open;
    open.session = wire::Uuid::random();
    open.target_kind = "llvm";
    wire::SessionHandlers handlers;
    handlers.on_results = [this](std::vector<wire::JobResult> results) {
      std::vector<uint64_t> seqs;
      const std::lock_guard lock(mutex_);
      for (wire::JobResult& r : results) {
        seqs.push_back(r.seq);
        results_[r.seq] = std::move(r);
      }
      session_->ack(seqs);
      arrived_.notify_all();
    };
    handlers.blob = [this](Hash128 hash) -> std::optional<std::string> {
      const std::lock_guard lock(mutex_);
      const auto found = blobs_.find(hash);
      return found == blobs_.end() ? std::nullopt : std::optional(found->second);
    };
    session_ = std::make_unique<wire::SessionClient>(options, open, handlers);
    ASSERT_TRUE(session_->wait_open(20s).ok());
  }

  Hash128 add_blob(const Module& m) {
    const std::string bytes = encode(m);
    const std::lock_guard lock(mutex_);
    blobs_[hash_bytes(bytes)] = bytes;
    return hash_bytes(bytes);
  }
  wire::Job job(uint64_t seq, const Module& m) {
    wire::Job j;
    j.seq = seq;
    j.modules = {add_blob(m)};
    j.reference.emplace();
    j.reference->module_hash = add_blob(add_reference());
    j.reference->rel_error = j.reference->max_error = 1e-6;
    return j;
  }
  /// Waits until `n` jobs have their results.
  bool wait_results(size_t n) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, 60s, [&] { return results_.size() >= n; });
  }

  std::string dir_, address_;
  std::list<ChildProcess> children_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<uint64_t, wire::JobResult> results_;
  std::map<Hash128, std::string> blobs_;
  std::unique_ptr<wire::SessionClient> session_;
};

TEST_F(ProgramTest, MeasuresWhatASessionSubmits) {
  start_tracker();
  ChildProcess& agent = start_agent("lab");
  open_session();
  session_->submit({job(1, add_module()), job(2, add_module({.wrong_tail = 1})), job(3, add_module({.repeats = 3}))});
  ASSERT_TRUE(wait_results(3)) << log_of("device-agent");
  EXPECT_EQ(results_[1].candidates[0].status, ResultStatus::kOk) << results_[1].candidates[0].message;
  EXPECT_EQ(results_[2].candidates[0].status, ResultStatus::kWrongResult);
  EXPECT_EQ(results_[3].candidates[0].status, ResultStatus::kOk);
  EXPECT_EQ(results_[1].device, "lab/cpu");
  EXPECT_GT(results_[1].phases.build, 0);
  EXPECT_GT(results_[1].sentinel_before, 0);
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
  session_->submit({job(1, add_module())});
  EXPECT_TRUE(wait_results(1)) << log_of("device-agent");
}

TEST_F(ProgramTest, AKilledAgentLosesNothing) {
  start_tracker();
  ChildProcess& first = start_agent("first");
  open_session();
  std::vector<wire::Job> jobs;
  for (uint64_t seq = 1; seq <= 24; ++seq) jobs.push_back(job(seq, add_module({.repeats = static_cast<int64_t>(seq)})));
  session_->submit(jobs);
  ASSERT_TRUE(wait_results(1)) << log_of("device-agent");
  first.signal(SIGKILL);
  start_agent("second");
  ASSERT_TRUE(wait_results(24)) << log_of("device-agent") << log_of("tracker");
  for (const auto& [seq, r] : results_) EXPECT_EQ(r.candidates.at(0).status, ResultStatus::kOk) << seq << ": " << r.candidates.at(0).message;
}

TEST_F(ProgramTest, SaysWhenNoDeviceServesTheTarget) {
  const std::optional<int> cuda = start({"device-agent", "--target", "cuda"}).wait(20s);
  ASSERT_TRUE(cuda.has_value());
  EXPECT_EQ(WEXITSTATUS(*cuda), 3);
  EXPECT_THAT(log_of("device-agent"), HasSubstr("--target cuda: no device of this machine serves it"));
}

TEST_F(ProgramTest, BadUsageIsOneLine) {
  const std::vector<std::vector<std::string>> bad = {{"--target", "vax"}, {"--label", "x"}, {"--threads", "-1"}, {"--name", "a/b"},
                                                     {"--tracker", "192.0.2.1:9"}, {"--tracker", "nonsense"}, {"--no-such-flag"}};
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
