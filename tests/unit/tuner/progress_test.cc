#include "tuner/session/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "base/clean_stream.h"
#include "tests/fakes/fake_clock.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

Snapshot at(size_t trials) {
  Snapshot s;
  s.trials = trials, s.budget = 128, s.best_gflops = 231.44, s.trials_per_second = 12.06, s.seconds_left = 75;
  return s;
}

TEST(Progress, DescribesASnapshotInOneLine) {
  Snapshot s = at(37);
  s.failures = {{"rejected", 1}, {"run_timeout", 2}};
  EXPECT_EQ(describe(s),
            "37/128 trials  best 231.4 GFLOPS  12.1/s  failed 3 (rejected 1, run_timeout 2)  left 1 min 15 s");
  Snapshot none;
  none.budget = 10, none.trouble = "no device connected";
  EXPECT_EQ(describe(none), "0/10 trials  no result yet  0.0/s  [no device connected]");
}

Snapshot several(size_t first, size_t second) {
  Snapshot s = at(first + second);
  s.best_seconds = 1.834e-3, s.default_seconds = 2.6e-3;
  s.tasks = {{"conv2d ci=64", first, 231.44, 2.31, 0.87}, {"dense", second, 0, 0, std::nullopt}};
  return s;
}

TEST(Progress, ShowsTheModelsAccuracy) {
  Snapshot s = at(37);
  s.tasks = {{"dense", 37, 231.44, 2, 0.874}};
  EXPECT_EQ(describe(s), "37/128 trials  best 231.4 GFLOPS  model 0.87  12.1/s  left 1 min 15 s");
}

TEST(Progress, DescribesSeveralTasksAndEachOfThem) {
  const Snapshot s = several(30, 7);
  EXPECT_EQ(describe(s), "37/128 trials  total 1.83 ms, 1.42x the default  12.1/s  left 1 min 15 s");
  EXPECT_EQ(describe(s.tasks[0]),
            "conv2d ci=64                                     30 trials    231.4 GFLOPS  2.31x  model 0.87");
  EXPECT_EQ(describe(s.tasks[1]), "dense                                             7 trials");
}

TEST(Progress, OfAModelSaysItsTimeAndWhatIsMissing) {
  Snapshot s = several(30, 7);
  s.model = ModelProgress{12.3e-3, 25.8e-3, 0, 0.0042};
  EXPECT_EQ(describe(s), "37/128 trials  model now 12.3 ms, 2.10x default, gaining 0.4%/min  12.1/s  left 1 min 15 s");
  s.model = ModelProgress{12.3e-3, 12.3e-3, 1, std::nullopt};
  EXPECT_EQ(describe(s),
            "37/128 trials  model now 12.3 ms, 1.00x default, 1 of 2 tasks missing  12.1/s  left 1 min 15 s");
  s.model = ModelProgress{0, 0, 2, std::nullopt};
  EXPECT_EQ(describe(s), "37/128 trials  model not measured yet  12.1/s  left 1 min 15 s");
}

TEST(Progress, RewritesABlockOfLinesForSeveralTasks) {
  FakeClock clock;
  std::ostringstream out;
  LineProgress p(out, true, clock, {24, 200});
  const auto block = [](const Snapshot& s) {
    return describe(s.tasks[0]) + "\033[K\n" + describe(s.tasks[1]) + "\033[K\n" + describe(s) + "\033[K";
  };
  p.show(several(1, 0));
  clock.advance(100ms);
  p.show(several(2, 1));
  p.end();
  EXPECT_EQ(out.str(), "\r" + block(several(1, 0)) + "\033[2A\r" + block(several(2, 1)) + "\033[2A\r" +
                           block(several(2, 1)) + "\n");
}

TEST(Progress, LinesDoNotWrapAndABlockFitsTheTerminal) {
  FakeClock clock;
  std::ostringstream narrow, low;
  LineProgress(narrow, true, clock, {24, 40}).show(several(1, 0));
  std::istringstream lines(narrow.str());
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 40 + std::string("\033[K\r").size()) << line;
  LineProgress(low, true, clock, {3, 200}).show(several(1, 0));
  EXPECT_EQ(low.str(), "\r" + describe(several(1, 0)) + "\033[K") << "the total alone";
}

TEST(Progress, ElsewhereOnlyTasksWithNewTrialsHaveALine) {
  FakeClock clock;
  std::ostringstream out;
  LineProgress p(out, false, clock);
  p.show(several(8, 8));
  clock.advance(5s);
  p.show(several(16, 8));
  const Snapshot first = several(8, 8), second = several(16, 8);
  EXPECT_EQ(out.str(), describe(first) + "\n  " + describe(first.tasks[0]) + "\n  " + describe(first.tasks[1]) + "\n" +
                           describe(second) + "\n  " + describe(second.tasks[0]) + "\n");
}

TEST(Progress, RewritesItsLineOnATerminal) {
  FakeClock clock;
  std::ostringstream out;
  LineProgress p(out, true, clock);
  p.show(at(1));
  p.show(at(2));  // too soon
  clock.advance(100ms);
  p.show(at(3));
  p.end();
  EXPECT_EQ(out.str(),
            "\r" + describe(at(1)) + "\033[K\r" + describe(at(3)) + "\033[K\r" + describe(at(3)) + "\033[K\n");
}

// Labels are of other people's models; the moves are the line's own.
TEST(Progress, CommandsATerminalByItselfAlone) {
  FakeClock clock;
  Snapshot s = several(8, 8);
  s.tasks[0].label = "a\033[31m\r\xff";
  s.trouble = "b\033[2J";
  std::ostringstream out;
  {
    const CleanStream clean(out);
    LineProgress(out, true, clock, {24, 200}).show(s);
  }
  EXPECT_EQ(out.str().substr(0, 9), "\ra [31m ?");
  EXPECT_NE(out.str().find("[b [2J]\033[K"), std::string::npos) << out.str();
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\033'), 3) << "one a line";
}

TEST(Progress, NamesThePhaseBehindTheSearch) {
  Snapshot s = at(5);
  s.phase = "confirming";
  EXPECT_EQ(describe(s), "confirming  " + describe(at(5)));
}

TEST(Progress, PrintsALineNowAndThenElsewhere) {
  FakeClock clock;
  std::ostringstream out;
  LineProgress p(out, false, clock);
  p.show(at(1));
  clock.advance(1s);
  p.show(at(2));
  clock.advance(1s);
  p.show(at(3));
  p.show(at(4));
  p.end();
  EXPECT_EQ(out.str(), describe(at(1)) + "\n" + describe(at(3)) + "\n" + describe(at(4)) + "\n");
}

}  // namespace
}  // namespace hone
