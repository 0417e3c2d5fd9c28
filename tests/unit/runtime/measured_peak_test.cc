#include "compiler/runtime/measured_peak.h"

#include <gmock/gmock.h>

#include <fstream>

#include "compiler/host/machine_roof.h"
#include "tests/fakes/temporary_folder.h"

namespace hone {
namespace {

// A machine that does 237 GFLOPS, and half of it while a neighbour is there: `busy` tries from now on.
struct Machine {
  int busy = 0, tries = 0, pauses = 0;
  double factor() { return ++tries, busy-- > 0 ? 0.5 : 1.0; }
  MeasuredPeak peak(double known = 0) {
    return {[this] { return 237 * factor(); }, [this] { ++pauses; }, known};
  }
  RoofMeasures measures() {
    return {[this] {
              const double f = factor();
              return MachineRoof{237 * f, {{1000, 80 * f}, {1000000, 20 * f}}};
            },
            [this] { return 237 * factor(); }, [this] { ++pauses; }};
  }
};

TEST(MeasuredPeak, IsTheBestOfTriesSpreadOverTime) {
  Machine machine{.busy = 2};
  MeasuredPeak peak = machine.peak();
  peak.measure(3);
  EXPECT_EQ(peak.gflops(), 237);
  EXPECT_EQ(machine.pauses, 2);
}

TEST(MeasuredPeak, IsMeasuredAgainWhereAKernelBeatsIt) {
  Machine machine{.busy = 5};
  MeasuredPeak peak = machine.peak();
  peak.measure(3);
  ASSERT_EQ(peak.gflops(), 118.5);
  EXPECT_FALSE(peak.beaten_by(100));
  EXPECT_EQ(machine.tries, 3) << "nothing to find out";
  EXPECT_TRUE(peak.beaten_by(200));
  EXPECT_EQ(peak.gflops(), 237);
  EXPECT_EQ(machine.tries, 6) << "until it is no longer beaten";
}

TEST(MeasuredPeak, DoesNotBelieveWhatTheMachineCannotDo) {
  Machine machine;
  MeasuredPeak peak = machine.peak(237);
  EXPECT_FALSE(peak.beaten_by(1000));
  EXPECT_EQ(peak.gflops(), 237);
  EXPECT_EQ(machine.tries, MeasuredPeak::kTries);
}

class RoofTest : public testing::Test {
 protected:
  RoofCache cache() { return {folder_.path() + "/hone/roof.json", machine_.measures()}; }
  static double bandwidth(const MachineRoof& roof) { return roof.level_of(1e6).gb_per_second; }
  TemporaryFolder folder_;
  Machine machine_;
};

TEST_F(RoofTest, IsTheBestOfSeveralTriesAndKept) {
  machine_.busy = 2;
  EXPECT_EQ(cache().roof("here").peak_gflops, 237);
  EXPECT_EQ(machine_.tries, RoofCache::kTries);
  EXPECT_EQ(machine_.pauses, RoofCache::kTries - 1);
  const MachineRoof again = cache().roof("here");
  EXPECT_EQ(machine_.tries, RoofCache::kTries + 1) << "a look whether it is still right";
  EXPECT_EQ(again.peak_gflops, 237);
  EXPECT_EQ(bandwidth(again), 20);
}

TEST_F(RoofTest, OneMeasuredBesideANeighbourIsReplacedOnceTheMachineShowsMore) {
  machine_.busy = RoofCache::kTries;
  const MachineRoof low = cache().roof("here");
  EXPECT_EQ(low.peak_gflops, 118.5);
  EXPECT_EQ(bandwidth(low), 10);
  const MachineRoof high = cache().roof("here");
  EXPECT_EQ(high.peak_gflops, 237);
  EXPECT_EQ(bandwidth(high), 20);
}

TEST_F(RoofTest, OneThatAKernelBeatsIsReplaced) {
  machine_.busy = RoofCache::kTries + 1;
  ASSERT_EQ(cache().roof("here").peak_gflops, 118.5);
  const MachineRoof low = cache().roof("here");  // the look at the peak was disturbed, too
  ASSERT_EQ(bandwidth(low), 10);
  EXPECT_EQ(bandwidth(cache().beaten("here", low)), 20);
  EXPECT_EQ(bandwidth(cache().roof("here")), 20) << "the file has it, too";
  EXPECT_EQ(cache().roof("here").peak_gflops, 237);
}

TEST_F(RoofTest, ALowerTryLowersNothing) {
  const MachineRoof high = cache().roof("here");
  machine_.busy = 100;
  const MachineRoof same = cache().beaten("here", high);
  EXPECT_EQ(same.peak_gflops, 237);
  EXPECT_EQ(bandwidth(same), 20);
}

TEST_F(RoofTest, AFileThatIsNoneIsMeasuredAnew) {
  std::filesystem::create_directories(folder_.path() + "/hone");
  std::ofstream(folder_.path() + "/hone/roof.json")
      << "{\"here\": {\"peak_gflops\": 500, \"levels\": [{\"bytes\": 1000, \"gb_per_second\": 99}, 7]}}";
  const MachineRoof roof = cache().roof("here");
  EXPECT_EQ(roof.peak_gflops, 237);
  EXPECT_EQ(roof.levels.size(), 2u);
  EXPECT_EQ(roof.level_of(1000).gb_per_second, 80);
}

TEST(MachineRoof, TheBestOfTwoIsTheBestOfEachLevel) {
  const MachineRoof both = best_of({100, {{10, 5}, {30, 1}}}, {90, {{10, 4}, {20, 3}, {30, 2}}});
  EXPECT_EQ(both.peak_gflops, 100);
  ASSERT_EQ(both.levels.size(), 3u);
  EXPECT_EQ(both.level_of(10).gb_per_second, 5);
  EXPECT_EQ(both.level_of(20).gb_per_second, 3);
  EXPECT_EQ(both.level_of(30).gb_per_second, 2);
}

}  // namespace
}  // namespace hone
