// A few kills; tests/e2e/slow has twenty.
#include <fstream>
#include <thread>

#include "tests/e2e/fleet/kills.h"

namespace hone::e2e {
namespace {

TEST_F(Kills, AtRandomMomentsLoseNothing) {
  kill_and_resume(
      {"tuner", "--task", "conv2d", "--args", "ci=8,h=8,w=8,co=16", "--repeat", "2", "--min-repeat-ms", "1", "--json"},
      3, 2.5, 1);
}

class SeveralTasks : public Kills {
 protected:
  SeveralTasks() {
    std::ofstream(path("tasks.txt")) << "# two small ones\nconv2d ci=8,h=8,w=8,co=16  2\ndense m=8,n=64,k=32\n";
  }
  Words command(int trials, const Words& more = {}) {
    Words words{"tuner",    "--tasks", path("tasks.txt"), "--trials", std::to_string(trials),
                "--repeat", "2",       "--min-repeat-ms", "0.5",      "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

TEST_F(SeveralTasks, AreTunedConfirmedPlottedAndResumed) {
  const Output first = run(command(40, {"--plot", path("curve.svg")}));
  ASSERT_EQ(first.code, 0) << first.err;
  const Json j = first.json();
  ASSERT_EQ(j["tasks"].size(), 2u);
  int64_t trials = 0;
  double total = 0;
  for (const Json& task : j["tasks"]) {
    EXPECT_TRUE(task["best"]["confirmed"].get<bool>());
    EXPECT_LE(task["best"]["time_ms"].get<double>(), task["default"]["time_ms"].get<double>());
    EXPECT_GE(task["trials"].get<int64_t>(), 8);
    trials += task["trials"].get<int64_t>();
    total += task["weight"].get<double>() * task["best"]["time_ms"].get<double>();
  }
  EXPECT_EQ(trials, 40);
  EXPECT_NEAR(j["total"]["time_ms"].get<double>(), total, 1e-9);
  EXPECT_EQ(stored(db_).trials, 40);
  EXPECT_EQ(stored(db_).sessions, 1) << "one session for all";
  EXPECT_THAT(read_file(path("curve.svg")), testing::HasSubstr("2 tasks, 40 trials"));

  const Output again = run(command(60));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.json()["trials"], 60);
  EXPECT_EQ(stored(db_).configs, 60);
}

TEST_F(SeveralTasks, InterruptedTheyKeepTheirTrialsAndThePlot) {
  Program tuner = start(command(5000, {"--plot", path("curve.svg")}));
  ASSERT_TRUE(eventually([&] { return stored(db_).trials >= 16; })) << tuner.err();
  tuner.signal(SIGINT);
  EXPECT_EQ(tuner.wait(), 130) << tuner.err();
  EXPECT_THAT(tuner.err(), testing::HasSubstr("the same command resumes"));
  EXPECT_THAT(read_file(path("curve.svg")), testing::HasSubstr("</svg>"));
  EXPECT_EQ(Json::parse(tuner.out())["trials"], stored(db_).trials);
}

TEST_F(SeveralTasks, FlagsMayComeFromAFile) {
  std::ofstream(path("flags.toml")) << "tasks = \"" << path("tasks.txt") << "\"\ntrials = 20\nplot = \""
                                    << path("from-file.svg") << "\"\nrepeat = 2\nmin-repeat-ms = 0.5\njson = true\n";
  const Output output = run({"tuner", "--flags-file", path("flags.toml")});
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.json()["trials"], 20);
  EXPECT_THAT(read_file(path("from-file.svg")), testing::HasSubstr("20 trials"));
}

}  // namespace
}  // namespace hone::e2e
