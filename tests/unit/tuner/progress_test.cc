#include "tuner/progress.h"

#include <gtest/gtest.h>

#include <sstream>

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
  EXPECT_EQ(describe(s), "37/128 trials  best 231.4 GFLOPS  12.1/s  failed 3 (rejected 1, run_timeout 2)  left 1 min 15 s");
  Snapshot none;
  none.budget = 10, none.trouble = "no device connected";
  EXPECT_EQ(describe(none), "0/10 trials  no result yet  0.0/s  [no device connected]");
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
  EXPECT_EQ(out.str(), "\r" + describe(at(1)) + "\033[K\r" + describe(at(3)) + "\033[K\r" + describe(at(3)) + "\033[K\n");
}

TEST(Progress, PrintsALineNowAndThenElsewhere) {
  FakeClock clock;
  std::ostringstream out;
  LineProgress p(out, false, clock);
  p.show(at(1));
  clock.advance(4s);
  p.show(at(2));
  clock.advance(1s);
  p.show(at(3));
  p.show(at(4));
  p.end();
  EXPECT_EQ(out.str(), describe(at(1)) + "\n" + describe(at(3)) + "\n" + describe(at(4)) + "\n");
}

}  // namespace
}  // namespace hone
