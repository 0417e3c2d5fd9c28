// A tracker, agents and a tuner started separately, and the fate of a session when one of them is killed.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <regex>

#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;

constexpr int kTrials = 32;

// The body of the answer to a GET, when it is 200.
std::optional<std::string> get(const std::string& host_port, const std::string& page) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(host_port.substr(host_port.rfind(':') + 1))));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", page, host_port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      write(fd, request.data(), request.size()) > 0) {
    char buffer[4096];
    for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  const size_t body = answer.find("\r\n\r\n");
  if (answer.rfind("HTTP/1.1 200", 0) != 0 || body == std::string::npos) return std::nullopt;
  return answer.substr(body + 4);
}

// The value of a metric, named with its labels; 0 when the page has none.
double metric(const std::string& page, const std::string& name) {
  const size_t at = page.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stod(page.substr(at + name.size() + 2));
}

class Fleet : public Workplace {
 protected:
  // Silent agents lose their leases after two seconds: the tests wait for it.
  void start_tracker() {
    tracker_.emplace(start({"tracker", "--listen", listen_, "--http", http_, "--lease-s", "2"}));
    ASSERT_TRUE(tracker_->wait_out("\n")) << tracker_->err();
    const std::string line = tracker_->out();
    std::smatch found;
    ASSERT_TRUE(std::regex_match(line, found,
                                 std::regex("tracker: listening on (127.0.0.1:[0-9]+), http on (127.0.0.1:[0-9]+)\n")))
        << line;
    listen_ = found[1], http_ = found[2];  // the same again after a restart
  }
  Program start_agent(const std::string& name) {
    Program agent =
        start({"device-agent", "--target", "llvm", "--tracker", listen_, "--name", name, "--label", "room=" + name});
    EXPECT_TRUE(agent.wait_err("connected to " + listen_ + ", offering " + name + "/cpu (llvm -mtriple="))
        << agent.err();
    return agent;
  }
  Program start_tuner(const Words& more = {}) {
    Words words = {"tuner",
                   "--task",
                   "conv2d",
                   "--args",
                   "ci=8,h=8,w=8,co=16",
                   "--target",
                   "llvm",
                   "--trials",
                   std::to_string(kTrials),
                   "--tracker",
                   listen_,
                   "--repeat",
                   "4",
                   "--min-repeat-ms",
                   "5",
                   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return start(words);
  }
  bool wait_trials(int64_t n) {
    return eventually([&] { return stored(db_).trials >= n; });
  }
  Json status() {
    const Output output = run({"tracker", "status", "--json", "--tracker", listen_});
    EXPECT_EQ(output.code, 0) << output.err;
    return output.json();
  }
  void expect_all_trials(Program& tuner) {
    ASSERT_EQ(tuner.wait(), 0) << tuner.err();
    const Json j = Json::parse(tuner.out());
    EXPECT_EQ(j["trials"], kTrials);
    EXPECT_EQ(j["by_status"], Json({{"ok", kTrials}}));
    EXPECT_TRUE(j["best"]["confirmed"].get<bool>());
    const Stored s = stored(db_);
    EXPECT_EQ(s.trials, kTrials);
    EXPECT_EQ(s.configs, kTrials) << "no config is stored twice";
    EXPECT_EQ(run({"tophub", "check"}).code, 0);
  }

  std::string listen_ = "127.0.0.1:0", http_ = "127.0.0.1:0";
  std::optional<Program> tracker_;
};

TEST_F(Fleet, TwoAgentsShareTheWorkAndTheTrackerTellsOfIt) {
  start_tracker();
  Program a = start_agent("a"), b = start_agent("b");
  EXPECT_EQ(get(http_, "/healthz"), "ok\n");
  Program tuner = start_tuner();
  ASSERT_TRUE(wait_trials(kTrials / 4)) << tuner.err();

  const Json during = Json::parse(get(http_, "/api/state").value_or("{}"));
  ASSERT_EQ(during["devices"].size(), 2u) << during.dump();
  for (const Json& device : during["devices"]) {
    EXPECT_THAT(device["key"].get<std::string>(), testing::AnyOf("a/cpu", "b/cpu"));
    EXPECT_THAT(device["state"].get<std::string>(), testing::AnyOf("idle", "busy"));
    EXPECT_THAT(device["target"].get<std::string>(), testing::StartsWith("llvm -mtriple="));
    EXPECT_EQ(device["labels"]["room"], device["agent"]);
  }
  ASSERT_EQ(during["sessions"].size(), 1u) << during.dump();
  const Json& session = during["sessions"][0];
  EXPECT_THAT(session["title"].get<std::string>(), HasSubstr("conv2d(n=1,ci=8,h=8"));
  EXPECT_TRUE(session["connected"].get<bool>());
  EXPECT_GE(session["done"].get<int64_t>(), kTrials / 4);
  EXPECT_EQ(session["summary"]["budget"], kTrials);
  EXPECT_GE(during["results"]["ok"].get<int64_t>(), kTrials / 4);
  EXPECT_THAT(get(http_, "/metrics").value_or(""), HasSubstr("hone_results_total{status=\"ok\"}"));
  EXPECT_EQ(status()["sessions"].size(), 1u);

  expect_all_trials(tuner);
  const int64_t by_a = trials_of(db_, "a"), by_b = trials_of(db_, "b");
  EXPECT_GT(by_a, 0);
  EXPECT_GT(by_b, 0);
  EXPECT_EQ(by_a + by_b, kTrials);
  // The tracker's counts match the rows in the database, the finalists' measurements included.
  EXPECT_EQ(status()["results"]["ok"], stored(db_).rows);
  const std::string metrics = get(http_, "/metrics").value_or("");
  EXPECT_EQ(metric(metrics, "hone_results_total{status=\"ok\"}"), stored(db_).rows);
  EXPECT_GE(metric(metrics, "hone_device_jobs_total{device=\"a/cpu\"}"), by_a);
  EXPECT_GE(metric(metrics, "hone_device_jobs_total{device=\"b/cpu\"}"), by_b);
  EXPECT_EQ(metric(metrics, "hone_leases_expired_total"), 0);

  const std::vector<std::string> scratch = scratch_folders();
  EXPECT_EQ(scratch.size(), 2u);
  for (Program* p : {&a, &b, &*tracker_}) {
    p->signal(SIGTERM);
    EXPECT_EQ(p->wait(), 0) << p->err();
  }
  EXPECT_TRUE(nothing_left(scratch)) << testing::PrintToString(processes());
}

TEST_F(Fleet, AKeyChoosesTheDevice) {
  start_tracker();
  const Program a = start_agent("a"), b = start_agent("b");
  Program tuner = start_tuner({"--device", "room=b"});
  expect_all_trials(tuner);
  EXPECT_EQ(trials_of(db_, "b"), kTrials);
  EXPECT_THAT(expect_refused(3, {"tuner", "--task", "dense", "--tracker", listen_, "--device", "attic"}),
              HasSubstr("under the key 'attic'"));
}

TEST_F(Fleet, AKilledAgentLosesNothing) {
  start_tracker();
  Program a = start_agent("a");
  const Program b = start_agent("b");
  Program tuner = start_tuner();
  ASSERT_TRUE(wait_trials(8)) << tuner.err();
  a.signal(SIGKILL);
  EXPECT_EQ(a.wait(), 128 + SIGKILL);
  expect_all_trials(tuner);
  EXPECT_GT(trials_of(db_, "b"), 0);
}

TEST_F(Fleet, AKilledTrackerLosesNothing) {
  start_tracker();
  const Program a = start_agent("a"), b = start_agent("b");
  Program tuner = start_tuner();
  ASSERT_TRUE(wait_trials(8)) << tuner.err();
  tracker_->signal(SIGKILL);
  EXPECT_EQ(tracker_->wait(), 128 + SIGKILL);
  EXPECT_LT(stored(db_).trials, kTrials) << "the session was not over yet";
  start_tracker();
  expect_all_trials(tuner);
  EXPECT_EQ(status()["devices"].size(), 2u) << "the agents are back";
}

TEST_F(Fleet, AKilledTunerResumesOnTheSameFleet) {
  start_tracker();
  const Program a = start_agent("a"), b = start_agent("b");
  {
    Program tuner = start_tuner();
    ASSERT_TRUE(wait_trials(8)) << tuner.err();
    tuner.signal(SIGKILL);
    EXPECT_EQ(tuner.wait(), 128 + SIGKILL);
  }
  const int64_t kept = stored(db_).trials;
  EXPECT_LT(kept, kTrials);
  Program again = start_tuner();
  expect_all_trials(again);
  EXPECT_EQ(stored(db_).sessions, 2);
}

// Both sessions of two tuners get devices, each database holds its own trials.
TEST_F(Fleet, TwoTunersShareOneDevice) {
  start_tracker();
  const Program a = start_agent("a");
  Program first = start_tuner();
  Program second = start_tuner({"--db", path("other.db"), "--seed", "7"});
  expect_all_trials(first);
  ASSERT_EQ(second.wait(), 0) << second.err();
  EXPECT_EQ(stored(path("other.db")).trials, kTrials);
}

}  // namespace
}  // namespace hone::e2e
