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
}

}  // namespace
}  // namespace hone::agent
