// Runs on a machine that is hot, or short of voltage.
#include "tests/unit/agent/supervisor_fixture.h"

namespace hone::agent {
namespace {

using ThrottledMachine = SupervisorTest;

TEST_F(ThrottledMachine, WaitsUntilAHotMachineIsCool) {
  int asked = 0;
  throttled = [&] { return ++asked <= 2 ? "thermal" : ""; };
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_THAT(measurer.runs, IsEmpty()) << "it is hot";
  settle_until([&] { return !results.empty(); });
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_FALSE(results[1].drifted);
}

TEST_F(ThrottledMachine, MarksWhatAMachineThatStaysHotMeasures) {
  throttled = [] { return "thermal"; };
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_THAT(measurer.runs, IsEmpty());
  clock.advance(std::chrono::seconds(3));
  settle_until([&] { return !results.empty(); });
  ASSERT_THAT(results, SizeIs(1));
  EXPECT_TRUE(results[1].drifted);
  supervisor->on_leases({lease(2, {"y"})});
  settle();
  ASSERT_THAT(results, SizeIs(2)) << "it is waited for once";
  EXPECT_TRUE(results[2].drifted);
  throttled = nullptr;
  supervisor->on_leases({lease(3, {"z"})});
  settle();
  EXPECT_FALSE(results[3].drifted);
}

TEST_F(ThrottledMachine, MarksARunThatHeatedTheMachine) {
  bool is_hot = false;
  throttled = [&] { return is_hot ? "undervoltage" : ""; };
  measurer.on_run = [&] { is_hot = true; };
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_TRUE(results[1].drifted);
  EXPECT_EQ(results[1].machine->throttled, "undervoltage");
}

TEST_F(ThrottledMachine, ReadsItBeforeAndAfterEachRun) {
  machine.governor = "ondemand";
  machine.temperature_c = 61.5, machine.clock_mhz = 600;
  measurer.on_run = [&] {
    machine.temperature_c = 70;
    machine.clock_mhz = 1800;
  };
  supervisor->on_leases({lease(1, {"x"}), lease(2, {"bad"})});
  settle();
  EXPECT_EQ(results[1].machine, (wire::MachineState{"ondemand", 61.5, 70, 600, 1800, ""}));
  EXPECT_FALSE(results[1].drifted);
  EXPECT_EQ(results[2].machine, std::nullopt) << "nothing ran";
}

TEST_F(ThrottledMachine, SaysOfMarkedTrialsWhatTheMachineWas) {
  throttled = [] { return "hot"; };
  supervisor->on_leases({lease(1, {"x"})});
  settle();
  EXPECT_THAT(measurer.runs, IsEmpty());
  clock.advance(std::chrono::seconds(3));
  settle_until([&] { return !results.empty(); });
  EXPECT_TRUE(results[1].drifted);
  EXPECT_EQ(results[1].machine->throttled, "hot");
  throttled = nullptr;
  supervisor->on_leases({lease(2, {"y"})});
  settle();
  EXPECT_FALSE(results[2].drifted);
  EXPECT_EQ(results[2].machine->throttled, "");
}

}  // namespace
}  // namespace hone::agent
