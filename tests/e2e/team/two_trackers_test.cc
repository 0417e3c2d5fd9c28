// Two sites, each with a tracker, an agent and a tuner, and one tophub in PostgreSQL behind two services.
#include <fmt/format.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <list>
#include <map>
#include <optional>
#include <sstream>

#include "tests/e2e/fleet/programs.h"
#include "tests/fakes/postgres_server.h"

namespace hone::e2e {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kAnnsToken = "ann-0123456789abcdef", kBobsToken = "bob-0123456789abcdef";

class TwoTrackers : public Workplace {
 protected:
  void SetUp() override {
    if (const std::string why = PostgresServer::why_not(); !why.empty()) GTEST_SKIP() << why;
    postgres_.emplace();
    const std::string url = postgres_->new_database();
    write("tokens", "tuner ann " + kAnnsToken + "\ntuner bob " + kBobsToken + "\n");
    write("ann", kAnnsToken + "\n"), write("bob", kBobsToken + "\n");
    for (const char* who : {"ann", "bob"}) {
      Program& service = programs_.emplace_back(
          start({"tophub", "serve", "--listen", "127.0.0.1:0", "--token-file", path("tokens"), "--postgres", url}));
      ASSERT_TRUE(service.wait_out("next: ")) << service.err();
      const std::string said = service.out(), before = "tophub: serving PostgreSQL on ";
      ASSERT_THAT(said, StartsWith(before));
      hubs_[who] = "http://" + said.substr(before.size(), said.find('\n') - before.size());
      trackers_.emplace(who, start_tracker(who));
      programs_.push_back(start({"device-agent", "--tracker", site(who), "--name", std::string(who) + "-lab",
                                 "--target", "llvm", "--threads", "1"}));
      EXPECT_TRUE(programs_.back().wait_err("offering " + std::string(who) + "-lab/cpu")) << programs_.back().err();
    }
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    chmod(path(name).c_str(), 0600);
  }
  std::string site(const std::string& who) const { return "unix:" + path(who + ".sock"); }
  Program start_tracker(const std::string& who) {
    Program tracker = start({"tracker", "--listen", site(who), "--http", "none"});
    EXPECT_TRUE(tracker.wait_out("\n")) << tracker.err();
    return tracker;
  }
  Words tuner(const std::string& who, const std::string& workload, int trials) const {
    return {"tuner",
            "--tracker",
            site(who),
            "--workload",
            workload,
            "--target",
            "llvm",
            "--trials",
            fmt::to_string(trials),
            "--repeat",
            "2",
            "--min-repeat-ms",
            "0.2",
            "--tophub",
            hubs_.at(who),
            "--token-file",
            path(who),
            "--db",
            path(who + ".db")};
  }
  // As `who`, on a machine that knows nothing, through the service that `who` asks.
  std::string config_line(const std::string& who, const std::string& workload) {
    const Output built = run({"tensorc", "--workload", workload, "--target", "llvm -threads=1", "--tophub",
                              hubs_.at(who), "--token-file", path(who), "--check"});
    EXPECT_EQ(built.code, 0) << built.err;
    std::istringstream lines(built.err);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("config: ")) return line;
    return built.err;
  }

  std::optional<PostgresServer> postgres_;
  std::map<std::string, std::string> hubs_;  // by who asks them
  std::map<std::string, Program> trackers_;
  std::list<Program> programs_;
};

TEST_F(TwoTrackers, ShareOneTophubAndTheDeathOfOneIsTheOthersNone) {
  const std::string anns = "dense(m=8,n=64,k=48)", bobs = "dense(m=16,n=64,k=48)";
  constexpr int kTrials = 24;
  Program waiting = start(tuner("bob", bobs, kTrials));
  ASSERT_TRUE(eventually([&] { return stored(path("bob.db")).trials > 0; })) << waiting.err();
  trackers_.at("bob").signal(SIGKILL);
  trackers_.at("bob").wait();
  // Ann's site goes on meanwhile.
  const Output tuned = run(tuner("ann", anns, 6));
  ASSERT_EQ(tuned.code, 0) << tuned.err;
  EXPECT_THAT(tuned.err, HasSubstr(" went to " + hubs_.at("ann") + "\n"));
  trackers_.at("bob") = start_tracker("bob");
  ASSERT_EQ(waiting.wait(), 0) << waiting.err();
  EXPECT_EQ(stored(path("bob.db")).trials, kTrials);
  EXPECT_EQ(stored(path("bob.db")).configs, kTrials) << "no config is measured twice";
  EXPECT_THAT(waiting.err(), HasSubstr(" went to " + hubs_.at("bob") + "\n"));
  // Each site's builds find what the other found, through either service. Ann's machine knew hers to be absent.
  setenv("HONE_TOPHUB_REFRESH", "0", 1);
  EXPECT_THAT(config_line("bob", anns), StartsWith("config: best (exact workload, confirmed"));
  EXPECT_THAT(config_line("bob", anns), EndsWith(" from " + hubs_.at("bob") + " (tuner ann); elsewhere"));
  EXPECT_THAT(config_line("ann", bobs), EndsWith(" from " + hubs_.at("ann") + " (tuner bob); elsewhere"));
  EXPECT_THAT(config_line("ann", anns), EndsWith(" from " + hubs_.at("ann") + " (tuner ann); trusted"));
  unsetenv("HONE_TOPHUB_REFRESH");
}

}  // namespace
}  // namespace hone::e2e
