#include "tests/property/random_schedules.h"

namespace hone {
namespace {

class RandomSchedules : public testing::TestWithParam<unsigned> {};

TEST_P(RandomSchedules, KeepTheMeaning) {
  std::mt19937 rng(GetParam());
  int accepted = 0, refused = 0;
  for (int round = 0; round < 60 && !HasFailure(); ++round)
    check_random_schedule(rng, round % 12 == 0, &accepted, &refused);
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomSchedules, testing::Range(1u, 13u));

}  // namespace
}  // namespace hone
