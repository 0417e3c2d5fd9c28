#include "tracker/state/history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tracker/state/summary_ring.h"

namespace hone::tracker {
namespace {

TEST(DeviceHistory, BucketsGrowCoarserAndLoseNothing) {
  DeviceHistory history;
  uint32_t failed = 0;
  constexpr int kSeconds = 200'000;  // two days and some
  for (int t = 0; t < kSeconds; ++t) {
    history.answered(t, t % 7 != 0, 1e-4 + t * 1e-9);
    history.busy(t, 0.5);
    failed += t % 7 == 0;
  }
  const auto& buckets = history.buckets();
  EXPECT_EQ(history.width(), 640);
  EXPECT_LE(buckets.size(), DeviceHistory::kMost);
  EXPECT_GT(buckets.size(), DeviceHistory::kMost / 2);
  uint32_t done = 0, bad = 0;
  double busy = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    done += buckets[i].done, bad += buckets[i].failed, busy += static_cast<double>(buckets[i].busy_s);
    EXPECT_EQ(buckets[i].index, i);
  }
  EXPECT_EQ(done, static_cast<uint32_t>(kSeconds));
  EXPECT_EQ(bad, failed);
  EXPECT_NEAR(busy, kSeconds * 0.5, 1);
  EXPECT_NEAR(static_cast<double>(buckets.back().sentinel_seconds), 1e-4 + (kSeconds - 1) * 1e-9, 1e-9)
      << "the last of its bucket";
}

TEST(DeviceHistory, IdleTimesTakeNoRoom) {
  DeviceHistory history;
  history.answered(5, true, 0);
  history.answered(3500, true, 0);
  ASSERT_EQ(history.buckets().size(), 2u);
  EXPECT_EQ(history.buckets()[1].index, 350u);
  history.answered(1'000'000, true, 0);
  ASSERT_EQ(history.buckets().size(), 2u);
  EXPECT_EQ(history.buckets()[0].done, 2u) << "both are in the first of the coarse buckets";
}

TEST(DeviceHistory, ReadingsAreTheLastOfTheirBucketAndUnknownIsNotZero) {
  DeviceHistory history;
  history.answered(1, true, 0);
  EXPECT_EQ(history.buckets()[0].temperature_c, DeviceHistory::kUnknown);
  history.readings(2, {"a/cpu", 0.0, 1800, "", {}});
  history.readings(3, {"a/cpu", -3.5, {}, "", {}});
  EXPECT_FLOAT_EQ(history.buckets()[0].temperature_c, -3.5F);
  EXPECT_FLOAT_EQ(history.buckets()[0].clock_mhz, 1800);
  history.readings(15, {"a/cpu", {}, {}, "thermal", {}});
  EXPECT_EQ(history.buckets().size(), 1u) << "nothing to draw";
}

TEST(LastMinute, CountsWhatIsRecent) {
  LastMinute minute;
  for (int t = 0; t < 300; ++t) minute.add(t, 2, 0.25);
  EXPECT_NEAR(minute.rate(300, 0).jobs_per_minute, 120, 1);
  EXPECT_NEAR(minute.rate(300, 0).utilization, 0.25, 0.01);
  EXPECT_EQ(minute.rate(400, 0).jobs_per_minute, 0);
  LastMinute young;
  young.add(100, 5, 5);
  EXPECT_NEAR(young.rate(110, 100).jobs_per_minute, 30, 1e-9) << "counted since ten seconds";
  EXPECT_NEAR(young.rate(110, 100).utilization, 0.5, 1e-9);
}

TEST(EventRing, KeepsTheLastHundred) {
  EventRing ring;
  for (int i = 0; i < 250; ++i) ring.add({}, std::to_string(i));
  ASSERT_EQ(ring.events().size(), EventRing::kMost);
  EXPECT_EQ(ring.events().front().what, "150");
  EXPECT_EQ(ring.events().back().what, "249");
}

TEST(SummaryRing, StaysBoundedAndKeepsTheFirstTheNewestAndTheBest) {
  SummaryRing ring;
  for (int i = 0; i < 100'000; ++i)
    ring.add({i * 0.1, static_cast<uint64_t>(i), i == 777 ? 1000.0 : std::min(i, 500) * 1.0});
  const auto& points = ring.points();
  EXPECT_LE(points.size(), SummaryRing::kMost);
  EXPECT_GT(points.size(), SummaryRing::kMost / 4);
  EXPECT_EQ(points.front().trials, 0u);
  EXPECT_EQ(points.back().trials, 99'999u);
  const auto best = [](const std::vector<wire::CurvePoint>& curve) {
    return std::max_element(curve.begin(), curve.end(),
                            [](const auto& a, const auto& b) { return a.best_gflops < b.best_gflops; })
        ->best_gflops;
  };
  EXPECT_EQ(best(points), 1000);
  for (const size_t most : {3u, 10u, 120u}) {
    const auto sampled = ring.sampled(most);
    EXPECT_EQ(sampled.size(), most);
    EXPECT_EQ(sampled.front(), points.front());
    EXPECT_EQ(sampled.back(), points.back());
    EXPECT_EQ(best(sampled), 1000) << most;
    EXPECT_TRUE(std::is_sorted(sampled.begin(), sampled.end(),
                               [](const auto& a, const auto& b) { return a.seconds < b.seconds; }));
  }
}

TEST(SummaryRing, StandingStillTakesNoRoom) {
  SummaryRing ring;
  ring.add({0, 0, 0});
  for (int i = 1; i < 1000; ++i) ring.add({i * 1.0, 64, 100});
  ASSERT_EQ(ring.points().size(), 2u);
  EXPECT_EQ(ring.points().back().seconds, 999);
}

}  // namespace
}  // namespace hone::tracker
