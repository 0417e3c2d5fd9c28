// The same as RandomSchedules, for tens of thousands of programs.
#include "tests/property/random_schedules.h"

namespace hone {
namespace {

class ManyRandomSchedules : public testing::TestWithParam<unsigned> {};

TEST_P(ManyRandomSchedules, KeepTheMeaning) {
  std::mt19937 rng(GetParam());
  int accepted = 0, refused = 0;
  for (int round = 0; round < 2000 && !HasFailure(); ++round)
    check_random_schedule(rng, round % 50 == 0, &accepted, &refused);
  EXPECT_GT(accepted, 2000);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ManyRandomSchedules, testing::Range(100u, 120u));

}  // namespace
}  // namespace hone
