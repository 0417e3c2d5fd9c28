#include "compiler/host/busy_machine.h"

#include <gmock/gmock.h>

#include "tests/fakes/fake_clock.h"

namespace hone {
namespace {

using namespace std::chrono_literals;

struct BusyMachineTest : testing::Test {
  FakeClock clock;
  CpuAccount account;
  bool is_known = true;
  ReadCpuAccount read() {
    return [this] { return is_known ? std::optional(account) : std::nullopt; };
  }
};

TEST_F(BusyMachineTest, TellsWhatOthersUsed) {
  const BusyMachine watch(read(), &clock);
  clock.advance(2s);
  account.busy += 1000;  // more than any machine's tenth
  EXPECT_THAT(watch.told(), testing::MatchesRegex("others kept (500|499)\\.. of this machine's [0-9]+ CPUs busy"));
}

TEST_F(BusyMachineTest, TellsWhatAHypervisorTook) {
  const BusyMachine watch(read(), &clock);
  clock.advance(2s);
  account.stolen += 1000;
  EXPECT_NE(watch.told(), "");
}

TEST_F(BusyMachineTest, AQuietMachineIsNotWorthALine) {
  const BusyMachine watch(read(), &clock);
  clock.advance(2s);
  account.busy += 0.1;
  EXPECT_EQ(watch.told(), "");
}

TEST_F(BusyMachineTest, WhatCannotBeReadIsNotTold) {
  is_known = false;
  const BusyMachine watch(read(), &clock);
  is_known = true;
  clock.advance(2s);
  account.busy += 1000;
  EXPECT_EQ(watch.told(), "");
}

// Compiling keeps this process busy while it watches.
TEST_F(BusyMachineTest, ItsOwnUseIsNobodyElses) {
  const auto own = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double start = own();
  const BusyMachine watch([&] { return CpuAccount{own(), 0}; }, &clock);
  // A quarter of the time that passes would disturb.
  for (volatile int64_t n = 0; own() < start + 0.2;) n = n + 1;
  clock.advance(300ms);
  EXPECT_EQ(watch.told(), "");
}

}  // namespace
}  // namespace hone
