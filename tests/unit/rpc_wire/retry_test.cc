#include "rpc/wire/retry.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"

namespace hone::wire {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, GrowsToItsLimitWithinTheJitter) {
  FakeClock clock;
  const BackoffOptions options{.first = 100ms, .most = 1000ms, .factor = 2, .jitter = 0.25, .healthy = 1000ms};
  Backoff backoff(options, 7, clock);
  double nominal = 100;
  for (int i = 0; i < 10; ++i, nominal = std::min(1000.0, nominal * 2)) {
    const auto delay = backoff.next();
    EXPECT_GE(delay.count(), static_cast<int64_t>(nominal * 0.75) - 1);
    EXPECT_LE(delay.count(), static_cast<int64_t>(nominal * 1.25) + 1);
  }
}

TEST(Backoff, StartsAnewOnlyAfterAHealthyConnection) {
  FakeClock clock;
  Backoff backoff({.first = 100ms, .most = 10000ms, .factor = 2, .jitter = 0, .healthy = 2000ms}, 7, clock);
  EXPECT_EQ(backoff.next(), 100ms);
  EXPECT_EQ(backoff.next(), 200ms);
  backoff.connected();
  clock.advance(1999ms);
  EXPECT_EQ(backoff.next(), 400ms);
  backoff.connected();
  clock.advance(2s);
  EXPECT_EQ(backoff.next(), 100ms);
}

TEST(Backoff, SameSeedSameDelays) {
  FakeClock clock;
  Backoff a({}, 3, clock), b({}, 3, clock), c({}, 4, clock);
  bool differs = false;
  for (int i = 0; i < 5; ++i) {
    const auto delay = a.next();
    EXPECT_EQ(delay, b.next());
    differs |= delay != c.next();
  }
  EXPECT_TRUE(differs);
}

}  // namespace
}  // namespace hone::wire
