#include "base/others_use.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace hone {
namespace {

// A job on a machine of `cores` cores: `spans` of 10 ms each, timed on `own` of them, beside others that have `others`
// of them.
struct Machine {
  explicit Machine(int cores) : use(cores) {}
  void job(int spans, int own, double others, double stolen = 0) {
    use.begin_job();
    for (int i = 0; i < spans; ++i) {
      const CpuAccount before = now;
      now.busy += 0.01 * (own + others - stolen), now.stolen += 0.01 * stolen;
      use.add(0.01, own, before, now);
    }
  }
  OthersUse use;
  CpuAccount now;
};

TEST(OthersUse, AQuietMachineIsNotDisturbed) {
  Machine machine(2);
  machine.job(100, 2, 0);
  EXPECT_FALSE(machine.use.disturbs());
  machine.job(100, 1, 0.05);  // the agent itself
  EXPECT_FALSE(machine.use.disturbs());
}

TEST(OthersUse, SeesANeighbourOnACoreThatTheCandidateDoesNotUse) {
  Machine machine(2);
  machine.job(30, 1, 1);
  EXPECT_NEAR(machine.use.cores(), 1, 1e-9);
  EXPECT_TRUE(machine.use.disturbs());
}

TEST(OthersUse, SeesWhatTheHypervisorTook) {
  Machine machine(2);
  machine.job(30, 2, 0, 0.5);
  EXPECT_NEAR(machine.use.cores(), 0.5, 1e-9);
  EXPECT_TRUE(machine.use.disturbs());
}

TEST(OthersUse, WhatTheCandidateLeavesIdleIsNobodysUse) {
  Machine machine(4);
  machine.job(30, 4, -2);
  EXPECT_EQ(machine.use.cores(), 0);
}

TEST(OthersUse, ATenthOfTheOtherCoresCounts) {
  Machine machine(66);
  machine.job(60, 2, 3);
  EXPECT_FALSE(machine.use.disturbs());
  machine.job(60, 2, 7);
  EXPECT_TRUE(machine.use.disturbs());
}

TEST(OthersUse, ShortJobsAreJudgedTogether) {
  Machine machine(2);
  machine.job(2, 1, 1);
  EXPECT_FALSE(machine.use.disturbs()) << "two ticks say nothing";
  for (int i = 0; i < 10; ++i) machine.job(2, 1, 1);
  EXPECT_TRUE(machine.use.disturbs());
  // ... but not for long after the neighbour has gone.
  for (int i = 0; i < 40; ++i) machine.job(2, 1, 0);
  EXPECT_FALSE(machine.use.disturbs());
}

TEST(OthersUse, ALongJobIsJudgedAlone) {
  Machine machine(2);
  machine.job(100, 1, 1);
  machine.job(60, 1, 0);
  EXPECT_FALSE(machine.use.disturbs());
  machine.job(60, 1, 1);
  EXPECT_TRUE(machine.use.disturbs());
}

TEST(CpuAccount, IsReadFromTheFirstLine) {
  const auto account = parse_cpu_account("cpu  100 20 30 4000 50 6 7 80 90 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n", 100);
  ASSERT_TRUE(account);
  EXPECT_DOUBLE_EQ(account->busy, 1.63);
  EXPECT_DOUBLE_EQ(account->stolen, 0.8);
  EXPECT_FALSE(parse_cpu_account("", 100));
  EXPECT_FALSE(parse_cpu_account("cpu0 1 2 3 4 5 6 7 8", 100));
  EXPECT_FALSE(parse_cpu_account("cpu  1 2 3", 100));
}

TEST(CpuAccount, OfThisMachineGrowsWithWork) {
  const CpuAccountFile file;
  const auto before = file.read();
  if (!before) GTEST_SKIP() << "no /proc/stat";
  const auto mine = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec) + 1e-6 * static_cast<double>(usage.ru_utime.tv_usec);
  };
  const double start = mine();
  for (volatile uint64_t n = 0; mine() < start + 0.3;) n = n + 1;
  const auto after = file.read();
  ASSERT_TRUE(after);
  EXPECT_GT(after->busy, before->busy + 0.15);
}

}  // namespace
}  // namespace hone
