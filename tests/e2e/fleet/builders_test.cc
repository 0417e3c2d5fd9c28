// A strong machine builds for a board: the real programs.
#include <fstream>

#include "tests/e2e/fleet/programs.h"

namespace hone::e2e {
namespace {

using testing::HasSubstr;

class Builders : public Workplace {
 protected:
  void SetUp() override {
    tracker_.emplace(start({"tracker", "--listen", address_, "--http", "none"}));
    ASSERT_TRUE(tracker_->wait_out("\n")) << tracker_->err();
  }
  void start_builder() {
    builder_.emplace(
        start({"device-agent", "--tracker", address_, "--name", "strong", "--builders", "--builder-key", path("key")}));
    ASSERT_TRUE(builder_->wait_err("offering strong/builder (builder)")) << builder_->err();
    EXPECT_THAT(builder_->err(),
                HasSubstr("start its agent with --trust-builder and a copy of " + path("key") + ".pub"));
  }
  void start_board(const Words& trust) {
    Words words = {"device-agent", "--target", "llvm", "--threads", "1", "--tracker", address_, "--name", "pi4"};
    words.insert(words.end(), trust.begin(), trust.end());
    board_.emplace(start(words));
    ASSERT_TRUE(board_->wait_err("connected to ")) << board_->err();
  }
  void tune(int trials, int seed) {
    const Output r = run({"tuner", "--tracker", address_, "--device", "pi4", "--task", "dense", "--args",
                          "m=8,n=32,k=32", "--target", "llvm", "--trials", std::to_string(trials), "--seed",
                          std::to_string(seed), "--db", path("t.db")});
    ASSERT_EQ(r.code, 0) << r.err << board_->err();
  }
  // The numbers of jobs that a device has done, and that failed on it.
  std::pair<int, int> done(const std::string& key) {
    const Output r = run({"tracker", "status", "--tracker", address_, "--json"});
    const Json fleet = r.json();
    for (const Json& device : fleet["devices"])
      if (device["key"] == key) return {device["done"].get<int>(), device["failed"].get<int>()};
    return {-1, -1};
  }

  const std::string address_ = "unix:" + path("tracker.sock");
  std::optional<Program> tracker_, builder_, board_;
};

TEST_F(Builders, BuildAllThatABoardMeasuresUntilTheyAreGone) {
  start_builder();
  start_board({"--trust-builder", path("key.pub")});
  ASSERT_TRUE(board_->wait_err("modules are built by strong/builder")) << board_->err();
  tune(16, 1);
  const auto [built, failed] = done("strong/builder");
  EXPECT_GE(built, 16) << "candidates and references";
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(stored(path("t.db")).failed, 0);
  builder_->signal(SIGKILL);
  ASSERT_TRUE(board_->wait_err("no trusted builder is connected: modules are built here")) << board_->err();
  tune(24, 2);
  EXPECT_EQ(stored(path("t.db")).failed, 0);
  start_builder();
  EXPECT_TRUE(eventually([&] {
    const std::string said = board_->err();
    return said.rfind("modules are built by strong/builder") > said.find("modules are built here");
  })) << board_->err();
}

TEST_F(Builders, OneThatIsStoppedHoldsItsBoardForOneWait) {
  start_builder();
  start_board({"--trust-builder", path("key.pub")});
  ASSERT_TRUE(board_->wait_err("modules are built by strong/builder")) << board_->err();
  tune(8, 1);
  EXPECT_GE(done("strong/builder").first, 8);
  builder_->signal(SIGSTOP);
  tune(16, 2);
  EXPECT_EQ(stored(path("t.db")).failed, 0);
  const std::string said = board_->err();
  const size_t first = said.find("a builder let a module wait");
  EXPECT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("a builder let a module wait", first + 1), std::string::npos)
      << "what was asked for at once waited at once: " << said;
  builder_->signal(SIGCONT);
}

TEST_F(Builders, OfAnotherKeyAreNotAsked) {
  start_builder();
  std::ofstream(path("other.pub")) << "-----BEGIN PUBLIC KEY-----\n"
                                      "MCowBQYDK2VwAyEASO/T0MZVeeyXwy+Ni6AXIll82I5F2AijyhYQbfa+8/M=\n"
                                      "-----END PUBLIC KEY-----\n";
  start_board({"--trust-builder", path("other.pub")});
  ASSERT_TRUE(board_->wait_err("no trusted builder is connected")) << board_->err();
  tune(8, 1);
  EXPECT_EQ(done("strong/builder").first, 0);
  EXPECT_EQ(stored(path("t.db")).failed, 0);
}

TEST_F(Builders, WithoutTheFlagABoardBuildsForItself) {
  start_builder();
  start_board({});
  tune(8, 1);
  EXPECT_EQ(done("strong/builder").first, 0);
}

TEST_F(Builders, MistakesInTheFlagsAreNamed) {
  const auto refused = [&](Words words) {
    words.insert(words.begin(), {"device-agent", "--tracker", address_});
    return expect_refused(2, words);
  };
  EXPECT_THAT(refused({"--builders"}), HasSubstr("--builder-key FILE need each other"));
  EXPECT_THAT(refused({"--builder-key", path("k")}), HasSubstr("--builder-key FILE need each other"));
  EXPECT_THAT(refused({"--builders", "--builder-key", path("k"), "--target", "llvm"}), HasSubstr("measures nothing"));
  EXPECT_THAT(refused({"--builders", "--builder-key", path("no/k")}), HasSubstr("No such file"));
  EXPECT_THAT(refused({"--trust-builder", path("none.pub")}), HasSubstr("none.pub: No such file"));
}

}  // namespace
}  // namespace hone::e2e
