// A board's agent, built for ARM and run under qemu-user, between this machine's tracker and tuner.
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>

#include "db/store.h"
#include "tests/e2e/fleet/programs.h"
#include "tests/fakes/small_model.h"

namespace hone::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string kBuild = HONE_ARM64_BUILD_DIR, kPrograms = kBuild + "/bin/";
constexpr const char* kEmulator = "/usr/bin/qemu-aarch64-static";
// An emulated agent takes ten times as long, which other work on the machine multiplies.
constexpr seconds kLong{900};

// The sysroot that `cmake --preset arm64` was configured with.
std::string sysroot() {
  const std::string cache = read_file(kBuild + "/CMakeCache.txt");
  std::smatch found;
  return std::regex_search(cache, found, std::regex("\nHONE_SYSROOT:[A-Z]*=(.*)")) ? found.str(1) : "";
}

class Board : public Workplace {
 protected:
  explicit Board(std::string cpu = "cortex-a72") : cpu_(std::move(cpu)) {}

  // Kernels start ARM's programs here only where somebody registered the emulator. So the agent finds, beside itself,
  // scripts that name it.
  void SetUp() override {
    for (const char* program : {"device-agent", "hone-builder", "hone-runner"})
      if (!fs::exists(kPrograms + program))
        GTEST_SKIP() << "there is no " << kPrograms << program << ": deploy/test-arm64 builds it";
    if (!fs::exists(kEmulator)) GTEST_SKIP() << "there is no " << kEmulator << ": deploy/setup installs it";
    fs::create_directory(path("board"));
    fs::copy_file(kPrograms + "device-agent", path("board/device-agent"));
    write_script("agent", path("board/device-agent"));
    write_script("board/hone-builder", kPrograms + "hone-builder");
    write_script("board/hone-runner", kPrograms + "hone-runner");
    ASSERT_EQ(run({"tracker", "init-tls", path("tls"), "--agent", "pi4", "--agent", "strong", "--tuner", "ann"}).code,
              0);
    start_tracker();
  }

  void start_tracker() {
    tracker_.emplace(start({"tracker", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--lease-s", "5",
                            "--tls-cert", tls("tracker.pem"), "--tls-key", tls("tracker.key"), "--tls-client-ca",
                            tls("ca.pem"), "--token-file", tls("tokens")}));
    ASSERT_TRUE(tracker_->wait_out("\n")) << tracker_->err();
    const std::string line = tracker_->out();
    std::smatch found;
    ASSERT_TRUE(std::regex_search(line, found, std::regex("listening on (127.0.0.1:[0-9]+),"))) << line;
    address_ = found[1];
  }

  Words as(const std::string& name) const {
    return {"--tracker",    address_,
            "--name",       name,
            "--tls-ca",     tls("ca.pem"),
            "--tls-cert",   tls("agent-" + name + ".pem"),
            "--tls-key",    tls("agent-" + name + ".key"),
            "--token-file", tls("agent-" + name + ".token")};
  }

  Program start_agent(const Words& more = {}) {
    Words words = as("pi4");
    words.insert(words.begin(), {path("agent"), "--target", target()});
    words.insert(words.end(), more.begin(), more.end());
    Program agent = start(words);
    EXPECT_TRUE(agent.wait_err(fmt::format("connected to {}, offering pi4/cpu ({})", address_, target())))
        << agent.err();
    return agent;
  }

  // Emulated, a candidate takes a second and more to compile, and many times that on a machine with other work.
  Words tuner(const std::string& task, const std::string& args, int trials) const {
    return with(ann(), {"tuner",
                        "--tracker",
                        address_,
                        "--task",
                        task,
                        "--args",
                        args,
                        "--target",
                        "llvm",
                        "--trials",
                        std::to_string(trials),
                        "--batch",
                        "4",
                        "--timeout",
                        "120",
                        "--repeat",
                        "1",
                        "--min-repeat-ms",
                        "0.2",
                        "--json"});
  }

  std::string target() const { return "llvm -mtriple=aarch64-linux -mcpu=" + cpu_ + " -threads=2"; }
  static Words with(const Words& more, Words words) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  Words ann() const {
    return {"--tls-ca",  tls("ca.pem"),        "--tls-cert",   tls("tuner-ann.pem"),
            "--tls-key", tls("tuner-ann.key"), "--token-file", tls("tuner-ann.token")};
  }
  std::optional<Program> tracker_;
  const std::string& address() const { return address_; }
  std::string tls(const std::string& file) const { return path("tls/" + file); }

 private:
  void write_script(const std::string& name, const std::string& program) {
    std::ofstream(path(name)) << "#!/bin/sh\nexec " << kEmulator << " -L " << sysroot() << " -cpu " << cpu_ << " "
                              << program << " \"$@\"\n";
    chmod(path(name).c_str(), 0700);
  }

  const std::string cpu_;
  std::string address_;
};

// Operators small enough that hundreds of calls under an emulator take no time.
struct Task {
  const char *name, *args;
};
void PrintTo(const Task& task, std::ostream* out) { *out << task.name; }

class BoardTunes : public Board, public testing::WithParamInterface<Task> {};

TEST_P(BoardTunes, WithoutAWrongCandidateAndResumes) {
  const Program agent = start_agent();
  EXPECT_THAT(agent.err(), HasSubstr("this system lacks: "))
      << "qemu-user has no seccomp and no Landlock, and the agent has to say so";
  const auto [task, args] = GetParam();
  const Output first = run(tuner(task, args, 16), kLong);
  ASSERT_EQ(first.code, 0) << first.err << agent.err();
  EXPECT_EQ(first.json()["target"], target());
  EXPECT_EQ(first.json()["by_status"], Json({{"ok", 16}}));
  EXPECT_EQ(stored(db_).trials, 16);
  EXPECT_EQ(trials_of(db_, "pi4"), 16);

  const Output second = run(tuner(task, args, 24), kLong);
  ASSERT_EQ(second.code, 0) << second.err << agent.err();
  EXPECT_EQ(second.json()["by_status"], Json({{"ok", 24}}));
  EXPECT_EQ(stored(db_).configs, 24) << "no config is measured twice";
}

INSTANTIATE_TEST_SUITE_P(Tasks, BoardTunes,
                         testing::Values(Task{"conv2d", "ci=8,h=8,w=8,co=16"}, Task{"dense", "m=8,n=64,k=32"}),
                         [](const auto& info) { return info.param.name; });

// An emulated agent compiles ten times as slowly as this machine, as a small board does.
TEST_F(Board, IsNotBoundByItsCompilerWhereAnotherMachineBuilds) {
  struct Cost {
    double seconds = 0, build = 0, rest = 0;  // of a trial: passed, in builders, in the check and timed
  };
  const auto tune = [&](const std::string& how, const Words& trust) {
    const Program agent = start_agent(trust);
    Words words = tuner("conv2d", "ci=16,h=14,w=14,co=32", 24);
    words.insert(words.end(), {"--db", path(how + ".db")});
    const auto begin = std::chrono::steady_clock::now();
    const Output r = run(words, kLong);
    Cost cost;
    cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 24;
    EXPECT_EQ(r.code, 0) << r.err << agent.err();
    EXPECT_EQ(r.json()["by_status"], Json({{"ok", 24}})) << agent.err();
    EXPECT_THAT(agent.err(), testing::Not(HasSubstr("is not used")));
    const auto store = db::open_for_reading(path(how + ".db")).value();
    const std::vector<db::TrialRow> rows = store->trials().list({}).value();
    for (const db::TrialRow& row : rows) {
      cost.build += row.phases.build / 24;
      cost.rest += (row.phases.check + row.phases.run) / 24;
    }
    std::cout << fmt::format("{}: {:.2f} trials/s; seconds of a trial: {:.3f} in builders, {:.3f} checked and timed\n",
                             how, 1 / cost.seconds, cost.build, cost.rest);
    return cost;
  };
  const Cost alone = tune("alone", {});
  Words words = as("strong");
  words.insert(words.begin(), "device-agent");
  words.insert(words.end(), {"--builders", "--builder-key", path("key")});
  const Program builder = start(words);
  ASSERT_TRUE(builder.wait_err("offering strong/builder")) << builder.err();
  const Cost helped = tune("helped", {"--trust-builder", path("key.pub")});
  EXPECT_LT(helped.build, 0.5 * alone.build);
}

TEST_F(Board, ChecksAndTimesWhatTensorcBuilds) {
  const Program agent = start_agent();
  const Output r = run(with(ann(), {"tensorc", "--tracker", address(), "--device", "pi4", "--task", "dense", "--args",
                                    "m=8,n=64,k=32", "--check", "--bench"}),
                       kLong);
  ASSERT_EQ(r.code, 0) << r.err << agent.err();
  EXPECT_THAT(r.err, HasSubstr("check: agrees with the reference on pi4/cpu"));
  EXPECT_THAT(r.out, HasSubstr(" ms  "));
}

struct BoardWithSumsInF16 : Board {
  BoardWithSumsInF16() : Board("cortex-a76") {}
};

TEST_F(BoardWithSumsInF16, ChecksAModelThatAsksForThem) {
  const Program agent = start_agent();
  SmallModel(SmallModel::kOfOne, SmallModel::kF16).write(path("half.onnx"));
  const Output r = run(with(ann(), {"tensorc", path("half.onnx"), "--tracker", address(), "--device", "pi4",
                                    "--accumulate", "f16", "--config", "default", "-o", path("m.so"), "--check"}),
                       kLong);
  ASSERT_EQ(r.code, 0) << r.err << agent.err();
  EXPECT_THAT(r.err, HasSubstr("check: 7 kernels agree with their references on pi4/cpu"));
}

// As after a power cut: nothing is lost but what was in flight.
TEST_F(Board, KilledInASessionAndStartedAgainGoesOn) {
  std::optional<Program> agent(start_agent());
  Program session = start(tuner("conv2d", "ci=8,h=8,w=8,co=16", 32));
  ASSERT_TRUE(eventually([&] { return stored(db_).trials >= 4; }, kLong)) << session.err() << agent->err();
  ASSERT_TRUE(session.running()) << "done before the kill";
  agent->signal(SIGKILL);
  EXPECT_EQ(agent->wait(), 128 + SIGKILL);
  const size_t ours = 2;  // tracker and tuner
  EXPECT_TRUE(eventually([&] { return processes().size() <= ours; }))
      << "the agent's children outlive it: " << testing::PrintToString(processes());
  agent.emplace(start_agent());
  EXPECT_EQ(session.wait(kLong), 0) << session.err() << agent->err();
  const Json j = Json::parse(session.out());
  EXPECT_EQ(j["by_status"], Json({{"ok", 32}}));
  EXPECT_EQ(stored(db_).configs, 32);
  agent->signal(SIGTERM);
  EXPECT_EQ(agent->wait(), 0) << agent->err();
}

}  // namespace
}  // namespace hone::e2e
