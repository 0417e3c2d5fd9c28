#include "compiler/runtime/time_kernel.h"

#include <gtest/gtest.h>

#include "compiler/runtime/include/hone_runtime.h"
#include "tests/fakes/fake_clock.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

TEST(TimeKernel, RepeatsLastAsLongAsAsked) {
  FakeClock clock;
  int64_t calls = 0;
  const auto result = time_kernel([&] { return ++calls, clock.advance(100us), HONE_OK; },
                                  {.warmup = 2, .repeats = 5, .min_repeat_ms = 2}, clock);
  ASSERT_TRUE(result.ok());
  ASSERT_EQ(result->seconds.size(), 5u);
  for (double s : result->seconds) EXPECT_NEAR(s, 100e-6, 1e-12);
  EXPECT_EQ(result->calls, 5 * 20);
  EXPECT_EQ(calls, 2 + 5 * 20);
  EXPECT_FALSE(result->censored);
}

TEST(TimeKernel, DoesNotTrustTheColdCall) {
  FakeClock clock;
  int64_t calls = 0;
  const auto result = time_kernel([&] { return clock.advance(calls++ == 0 ? 10ms : 10us), HONE_OK; },
                                  {.repeats = 3, .min_repeat_ms = 2}, clock);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->seconds.size(), 3u);
  EXPECT_NEAR(result->median(), 10e-6, 1e-12);
  EXPECT_GE(result->calls, 3 * 180);
}

TEST(TimeKernel, StopsClearlySlowOnes) {
  FakeClock clock;
  int64_t calls = 0;
  const auto slow = [&] { return ++calls, clock.advance(50ms), HONE_OK; };
  const auto result = time_kernel(slow, {.warmup = 1, .repeats = 10, .censor_above_seconds = 0.04}, clock);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->censored);
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(result->seconds.size(), 1u);
  EXPECT_NEAR(result->seconds[0], 0.05, 1e-12);
}

TEST(TimeKernel, StopsAtTheDeadline) {
  FakeClock clock;
  const auto result = time_kernel([&] { return clock.advance(10ms), HONE_OK; },
                                  {.warmup = 1, .repeats = 100, .deadline_seconds = 0.055}, clock);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->censored);
  EXPECT_EQ(result->seconds.size(), 5u);
}

TEST(TimeKernel, FlushesBetweenSingleCalls) {
  FakeClock clock;
  int64_t calls = 0;
  const auto result = time_kernel([&] { return ++calls, clock.advance(1us), HONE_OK; },
                                  {.warmup = 1, .repeats = 4, .min_repeat_ms = 2, .flush_bytes = 1 << 16}, clock);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(result->seconds.size(), 4u);
}

TEST(TimeKernel, PassesOnAFault) {
  FakeClock clock;
  EXPECT_EQ(time_kernel([] { return HONE_FAULT; }, {}, clock).status().code(), absl::StatusCode::kOutOfRange);
}

TEST(TimeResult, MedianAndMinimum) {
  EXPECT_DOUBLE_EQ((TimeResult{{3, 1, 2}}).median(), 2);
  EXPECT_DOUBLE_EQ((TimeResult{{4, 1, 2, 3}}).median(), 2.5);
  EXPECT_DOUBLE_EQ((TimeResult{{4, 1, 2, 3}}).minimum(), 1);
}

}  // namespace
}  // namespace hone
