#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fakes/well_formed_svg.h"
#include "tuner/plot/axis.h"
#include "tuner/plot/curve.h"
#include "tuner/plot/svg.h"

namespace hone::plot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

db::TrialRow trial(int n, double seconds, const std::string& status = "ok") {
  db::TrialRow row;
  row.session = "s1";
  row.config = "tile=" + std::to_string(n);
  row.status = status;
  if (status == "ok") row.seconds = seconds;
  return row;
}

TaskCurve curve(size_t n) {
  TaskCurve t;
  t.workload = "dense(m=128,n=768,k=768,dtype=f32,epilogue=none)";
  t.target = "llvm -mcpu=znver5 -threads=2";
  t.label = "dense m=128";
  t.flops = 1e9;
  for (size_t i = 0; i < n; ++i)
    t.trials.push_back(trial(static_cast<int>(i), 1e-2 / (1 + std::fmod(static_cast<double>(i) * 7.3, 10))));
  t.default_config = "tile=0";
  if (n > 0) t.default_seconds = 1e-2, t.best_seconds = 1e-3, t.best_config = "tile=1", t.confirmed = true;
  return t;
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Svg, HasColorsForDarkPagesInAStyleSheet) {
  Svg svg(20, 10);
  svg.rect(0, 0, 20, 10, "#ffffff", "#333333");
  EXPECT_THAT(svg.str(), testing::Not(HasSubstr("<style>")));
  svg.in_the_dark("#333333", "#dddddd");
  expect_well_formed(svg.str());
  EXPECT_THAT(svg.str(), HasSubstr("<style>@media (prefers-color-scheme: dark) {\n[fill=\"#333333\"]{fill:#dddddd}"
                                   "[stroke=\"#333333\"]{stroke:#dddddd}\n}</style>"));
}

TEST(Curve, ShowsEveryTrialTheBestSoFarTheDefaultAndTheBest) {
  const std::string svg = draw({curve(40)});
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<circle"), 40u + 1) << "and one in the legend";
  EXPECT_EQ(count(svg, "<polyline"), 1u);
  EXPECT_THAT(svg, HasSubstr(">best, confirmed<"));
  EXPECT_THAT(svg, HasSubstr(">default 100<"));
  EXPECT_THAT(svg, HasSubstr("40 trials · best 1000 GFLOPS, 1.00 ms · 10.00x the default"));
  EXPECT_THAT(svg, HasSubstr("dense(m=128,n=768,k=768,dtype=f32,epilogue=none)"));
}

TEST(Curve, FailuresHaveMarksAndCounts) {
  TaskCurve t = curve(10);
  for (int i = 20; i < 23; ++i) t.trials.push_back(trial(i, 0, "run_timeout"));
  t.trials.push_back(trial(30, 0, "rejected"));
  const std::string svg = draw({t});
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr(">run_timeout 3<"));
  EXPECT_THAT(svg, HasSubstr(">rejected 1<"));
  EXPECT_THAT(svg, HasSubstr(">failed<"));
  EXPECT_THAT(draw({curve(10)}), testing::Not(HasSubstr(">failed<")));
}

TEST(Curve, ReMeasurementsAreNotTrials) {
  TaskCurve t = curve(10);
  db::TrialRow again = trial(3, 1e-3);
  again.confirmed = true;
  t.trials.push_back(again);
  EXPECT_THAT(draw({t}), HasSubstr(">10 trials"));
}

TEST(Curve, StoppedTrialsAreNeverTheBestSoFar) {
  TaskCurve t = curve(1);
  t.trials.push_back(trial(50, 1e-5));
  t.trials.back().censored = true;
  const std::string svg = draw({t});
  EXPECT_THAT(svg, HasSubstr("stopped early"));
  expect_well_formed(svg);
}

TEST(Curve, TheModelsAccuracyHasAPanelOfItsOwn) {
  TaskCurve t = curve(32);
  EXPECT_THAT(draw({t}), testing::Not(HasSubstr("model before each batch")));
  for (int i = 1; i <= 4; ++i) {
    db::BatchRow b;
    b.known = 8 * i;
    if (i > 1) b.pairwise = 0.5 + 0.1 * i, b.peak1 = 0.9;
    t.batches.push_back(b);
  }
  const std::string svg = draw({t});
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr("model before each batch"));
  EXPECT_EQ(count(svg, "<polyline"), 3u);
}

TEST(Curve, BatchesStandWhereTheirTrialsDo) {
  TaskCurve t = curve(32);
  for (size_t i = 0; i < 32; ++i) t.trials[i].created_at = static_cast<int64_t>(i);
  const auto drawn = [&](int64_t known, int64_t finished) {
    db::BatchRow b;
    b.known = known, b.finished = finished, b.pairwise = 0.5;
    TaskCurve with = t;
    with.batches = {b};
    return draw({with});
  };
  EXPECT_EQ(drawn(8, 20), drawn(21, 20)) << "a session that began afresh counts from 0";
  EXPECT_NE(drawn(8, 20), drawn(8, 30));
}

TEST(Curve, OfAConfigMeasuredAgainTheLatestTimeCounts) {
  TaskCurve again = curve(20), once = curve(20);
  again.trials.push_back(trial(5, 7e-4));
  once.trials[5].seconds = 7e-4;
  EXPECT_EQ(draw({again}), draw({once}));
}

TEST(Curve, SaysWhereASessionWasResumed) {
  TaskCurve t = curve(20);
  EXPECT_THAT(draw({t}), testing::Not(HasSubstr(">resumed<")));
  for (size_t i = 10; i < 20; ++i) t.trials[i].session = "s2";
  EXPECT_THAT(draw({t}), HasSubstr(">resumed<"));
}

TEST(Curve, NothingAndFailuresOnlyArePicturesToo) {
  EXPECT_THAT(draw({curve(0)}), HasSubstr("no trials yet"));
  expect_well_formed(draw({curve(0)}));
  TaskCurve t = curve(0);
  for (int i = 0; i < 5; ++i) t.trials.push_back(trial(i, 0, "build_failed"));
  EXPECT_THAT(draw({t}), HasSubstr("no candidate gave a time"));
  expect_well_formed(draw({t}));
}

TEST(Curve, ManyTrialsStayInside) {
  const std::string svg = draw({curve(5000)});
  expect_well_formed(svg);
  EXPECT_EQ(count(svg, "<circle"), 5001u);
}

TEST(Curve, WithoutOperationsTimesAreDrawn) {
  TaskCurve t = curve(10);
  t.flops = 0;
  const std::string svg = draw({t});
  expect_well_formed(svg);
  EXPECT_THAT(svg, HasSubstr(">ms<"));
  EXPECT_THAT(svg, testing::Not(HasSubstr("GFLOPS")));
}

TEST(Curve, SeveralTasksAreSmallPictures) {
  for (const size_t n : {2, 5, 12}) {
    std::vector<TaskCurve> tasks(n, curve(30));
    tasks.back().trials.clear();
    const std::string svg = draw(tasks);
    expect_well_formed(svg);
    EXPECT_EQ(count(svg, ">dense m=128<"), n);
    EXPECT_EQ(count(svg, ">default</text>"), 1u) << "one legend";
    EXPECT_THAT(svg, HasSubstr(std::to_string(n) + " tasks"));
  }
}

TEST(Curve, TextsAreEscapedAndCut) {
  TaskCurve t = curve(3);
  t.workload = std::string(400, 'x') + "<&\">";
  t.label = t.workload;
  expect_well_formed(draw({t}));
  expect_well_formed(draw({t, t}));
  EXPECT_THAT(draw({t}), HasSubstr("…"));
}

TEST(Fit, CutsWhatIsTooWide) {
  EXPECT_EQ(fit("short", 12, 1000), "short");
  const std::string cut = fit(std::string(200, 'a'), 12, 100);
  EXPECT_LE(text_width(cut, 12), 100);
  EXPECT_THAT(cut, testing::EndsWith("…"));
  EXPECT_THAT(fit("\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5\u00b5", 12, 40), testing::MatchesRegex("(\u00b5)*…"))
      << "no half of a character is left";
}

TEST(Axis, PutsTicksOnRoundNumbers) {
  EXPECT_THAT((Axis{0, 10, 0, 1, false}.ticks(5)), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT((Axis{0.5, 40.5, 0, 1, false}.ticks(4)), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT((Axis{0.9, 120, 0, 1, true}.ticks(8)), ElementsAre(1, 2, 5, 10, 20, 50, 100));
  EXPECT_THAT((Axis{1, 1e6, 0, 1, true}.ticks(8)), ElementsAre(1, 10, 100, 1000, 1e4, 1e5, 1e6));
}

TEST(Axis, MapsLinearlyOrLogarithmically) {
  EXPECT_EQ((Axis{0, 10, 100, 0, false}(2.5)), 75);
  EXPECT_DOUBLE_EQ((Axis{1, 100, 0, 10, true}(10)), 5);
  EXPECT_EQ((Axis{0, 10, 0, 100, false}(99)), 100) << "beyond the end is at the end";
}

TEST(Axis, IsLogarithmicWhereALinearOneWouldBeEmpty) {
  EXPECT_FALSE(value_axis(100, 900).logarithmic);
  EXPECT_EQ(value_axis(100, 900).low, 0);
  EXPECT_TRUE(value_axis(1, 900).logarithmic);
}

TEST(ShortNumber, GroupsThousandsAndDropsZeros) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.25), "0.25");
  EXPECT_EQ(short_number(723.6), "724");
  EXPECT_EQ(short_number(5000), "5000");
  EXPECT_EQ(short_number(12345), "12,345");
  EXPECT_EQ(short_number(1234567), "1,234,567");
}

}  // namespace
}  // namespace hone::plot
